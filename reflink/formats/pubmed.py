"""PubMed's XML with reference lists: answers of the E-utilities, and files of the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from lxml import etree

from reflink.bibliography import papers
from reflink.bibliography.citation import described
from reflink.bibliography.references import Entry
from reflink.entities import Ids
from reflink.errors import BadRecord
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.records import Part, check, paper_fields, several
from reflink.identifiers import NORMALISERS
from reflink.markup.tree import read_tree
from reflink.sources.medline.fields import MAX_TITLE, text_of
from reflink.sources.medline.records import records_of

_ROOTS: Final = frozenset(("PubmedArticleSet", "PubmedArticle", "PubmedBookArticleSet", "PubmedBookArticle"))
_ARTICLES: Final = ("PubmedArticle", "PubmedBookArticle")
#: Kinds of identifiers by ``IdType``.
_KINDS: Final = {"pubmed": "pmid", "doi": "doi", "pmc": "pmcid", "pmcid": "pmcid"}


class Pubmed(Format):
    """PubMed articles, one paper each, also those without references."""

    name: ClassVar[str] = "pubmed"
    about: ClassVar[str] = "PubMed XML with its ReferenceList: efetch, files of the baseline"
    endings: ClassVar[tuple[str, ...]] = (".xml",)

    def recognises(self, content: Content) -> bool:
        """Return whether the root element is PubMed's."""
        return content.root is not None and content.root[0] in _ROOTS and not content.root[1]

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the articles and books."""
        root, warnings = read_tree(content.data, content.name, options.limits)
        return several(content, _parts(root, tuple(warnings), content.name, options), options)


def _parts(root: etree._Element, warnings: tuple[str, ...], name: str, options: Options) -> Iterator[Part]:
    for article in [root] if root.tag in _ARTICLES else root.iterchildren(*_ARTICLES):
        check(sum(1 for _ in article.iter("Reference")), name, options)
        fields: dict[str, Any] = {}
        faults = warnings
        try:
            record = next(records_of(article, 0))
            if not isinstance(record, BadRecord) and record.work is not None:
                fields = paper_fields(record.work)
        except BadRecord as error:
            faults += (f"its own record was not read: {error}",)
        own = next(article.iter("Abstract"), None)
        if own is not None and (parts := [text for each in own.iter("AbstractText") if (text := text_of(each, MAX_TITLE))]):
            fields["abstract"] = " ".join(parts)
        yield fields, papers.own_name(etree.tostring(article), None), list(_entries(article)), faults


def _entries(article: etree._Element) -> Iterator[Entry]:
    """Yield the references of all lists: a list may hold others, each with a title, as those of a book's chapters."""
    for reference in article.iter("Reference"):
        ids: dict[str, str] = {}
        text = ""
        for part in reference:
            if part.tag == "Citation" and not text:
                text = text_of(part, MAX_TITLE)
            elif part.tag == "ArticleIdList":
                for each in part:
                    kind = _KINDS.get((each.get("IdType") or "").lower())
                    if kind and kind not in ids and (known := NORMALISERS[kind](text_of(each))):
                        ids[kind] = known
        if (found := described(text, {}, Ids.made({**ids}))) is not None:
            yield Entry(None, None, [found])
