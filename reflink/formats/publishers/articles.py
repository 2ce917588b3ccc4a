"""The formats of publishers' XML: how each is recognised, and its table."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from lxml import etree

from reflink.bibliography import papers
from reflink.errors import NotAPaper
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.publishers.citations import entries
from reflink.formats.publishers.front import front
from reflink.formats.publishers.markup import Markup
from reflink.formats.publishers.paragraphs import paragraphs
from reflink.formats.publishers.tables.elsevier import ELSEVIER
from reflink.formats.publishers.tables.iop import IOP
from reflink.formats.publishers.tables.nature import NATURE
from reflink.formats.publishers.tables.rsc import RSC
from reflink.formats.publishers.tables.springer import SPRINGER
from reflink.formats.publishers.tables.wiley import WILEY
from reflink.markup.names import plain_names
from reflink.markup.tree import read_tree

#: Bytes in which the signs of a format are searched.
_HEAD: Final = 1 << 16


class Articles(Format):
    """Articles of one publisher."""

    endings: ClassVar[tuple[str, ...]] = (".xml",)
    #: Names of root elements.
    roots: ClassVar[frozenset[str]]
    #: What the beginning of an article has.
    signs: ClassVar[re.Pattern[bytes]]
    markup: ClassVar[Markup]

    def recognises(self, content: Content) -> bool:
        """Return whether the root element is one of the publisher's, and the elements behind it are, too."""
        return (
            content.root is not None and content.root[0] in self.roots and self.signs.search(content.data, 0, _HEAD) is not None
        )

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the article or chapter."""
        root, warnings = read_tree(content.data, content.name, options.limits)
        plain_names(root)
        return (read(root, tuple(warnings), self.markup, content, options),)


def read(root: etree._Element, warnings: tuple[str, ...], markup: Markup, content: Content, options: Options) -> Parsed:
    """Return the paper of a tree with plain names. Raises NotAPaper without a title, an identifier and references."""
    fields = front(root, markup)
    found = entries(root, markup, content.name, options.limits)
    if not found and "title" not in fields and "ids" not in fields:
        raise NotAPaper(f"{content.name}: neither a title nor references")
    own = papers.own_name(content.data, content.source, fields.get("publisher_id"))
    paper = papers.paper(
        fields, found, own_name=own, source=content.name, limits=options.limits, infer=options.infer, warnings=warnings
    )
    return Parsed(paper, paragraphs(root, found, markup) if options.text else ())


class Elsevier(Articles):
    """Elsevier's articles and chapters."""

    name: ClassVar[str] = "elsevier"
    about: ClassVar[str] = (
        "Elsevier full text: ScienceDirect interfaces, ConSyn, articles and chapters with ce: and sb: elements"
    )
    roots: ClassVar[frozenset[str]] = frozenset(
        ("article", "simple-article", "converted-article", "book-review", "exam", "document", "full-text-retrieval-response",
         "doc", "chapter", "simple-chapter", "fb-non-chapter", "introduction", "glossary", "bibliography", "index",
         "examination", "book", "ehs-book", "serial-issue")
    )  # fmt: skip
    signs: ClassVar[re.Pattern[bytes]] = re.compile(
        rb"http://www\.elsevier\.com/xml/(?:ja|bk|cja|common|document|xocs|svapi)|<(?:ce|sb|xocs):[a-z]|<dp:document-properties"
    )
    markup: ClassVar[Markup] = ELSEVIER


class Springer(Articles):
    """Springer's articles and chapters in A++."""

    name: ClassVar[str] = "springer"
    about: ClassVar[str] = "Springer A++"
    roots: ClassVar[frozenset[str]] = frozenset(("Publisher", "Article", "Chapter", "Journal", "Book", "Bibliography"))
    signs: ClassVar[re.Pattern[bytes]] = re.compile(
        rb"<(?:PublisherInfo|JournalInfo|ArticleInfo|ChapterInfo|BookInfo|SeriesInfo|BibUnstructured|BibArticle)[\s>]"
    )
    markup: ClassVar[Markup] = SPRINGER


class Wiley(Articles):
    """Wiley's articles in WileyML."""

    name: ClassVar[str] = "wiley"
    about: ClassVar[str] = "Wiley's WileyML 3G (component)"
    roots: ClassVar[frozenset[str]] = frozenset(("component",))
    signs: ClassVar[re.Pattern[bytes]] = re.compile(rb"http://www\.wiley\.com/namespaces/wiley|<publicationMeta[\s>]")
    markup: ClassVar[Markup] = WILEY


class Nature(Articles):
    """Nature's articles."""

    name: ClassVar[str] = "nature"
    about: ClassVar[str] = "Nature Publishing Group's XML before JATS (pubfm, bibl)"
    roots: ClassVar[frozenset[str]] = frozenset(("article",))
    signs: ClassVar[re.Pattern[bytes]] = re.compile(rb"<pubfm[\s>]")
    markup: ClassVar[Markup] = NATURE


class Rsc(Articles):
    """The Royal Society of Chemistry's articles."""

    name: ClassVar[str] = "rsc"
    about: ClassVar[str] = "Royal Society of Chemistry's XML (art-admin, biblist)"
    roots: ClassVar[frozenset[str]] = frozenset(("article",))
    signs: ClassVar[re.Pattern[bytes]] = re.compile(rb"<art-admin[\s>]")
    markup: ClassVar[Markup] = RSC


class Iop(Articles):
    """IOP's articles."""

    name: ClassVar[str] = "iop"
    about: ClassVar[str] = "IOP Publishing's XML before JATS (article-metadata, reference-list)"
    roots: ClassVar[frozenset[str]] = frozenset(("article",))
    signs: ClassVar[re.Pattern[bytes]] = re.compile(rb"<article-metadata[\s>]")
    markup: ClassVar[Markup] = IOP
