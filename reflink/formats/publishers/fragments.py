"""Reference lists without an article: entries without a root element, perhaps behind a line with the bibcode of the paper."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from reflink import jats
from reflink.bibliography import papers
from reflink.errors import NotAPaper, TooLarge
from reflink.formats.content import Content
from reflink.formats.crossref import Deposits
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.publishers.articles import read
from reflink.formats.publishers.markup import Markup
from reflink.formats.publishers.tables.elsevier import ELSEVIER
from reflink.formats.publishers.tables.lists import AGU, AIP, APS, BLACKWELL, COPERNICUS, EDP, IOP_LIST, OUP_LIST
from reflink.formats.publishers.tables.nature import NATURE
from reflink.formats.publishers.tables.rsc import RSC
from reflink.formats.publishers.tables.springer import SPRINGER
from reflink.formats.publishers.tables.wiley import WILEY
from reflink.markup.encoding import DECLARATION, ENCODING
from reflink.markup.names import plain_names
from reflink.markup.tree import plain_markup, read_tree

#: What the entries of a list have, the name of an entry, and its markup.
_LISTS: Final[tuple[tuple[re.Pattern[bytes], str, Markup], ...]] = (
    (re.compile(rb"<ce:bib-reference[\s>]|<bib-reference[\s>]"), "bib-reference", ELSEVIER),
    (re.compile(rb"<(?:BibUnstructured|BibArticle|BibChapter|BibBook)[\s>]"), "Citation", SPRINGER),
    (re.compile(rb"<bib\s[^<>]{0,300}>\s{0,100}(?:<label>[^<>]{0,100}</label>\s{0,100})?<citation[\s>]"), "bib", WILEY),
    (re.compile(rb"<reftxt[\s>]"), "reftxt", NATURE),
    (re.compile(rb"<citgroup[\s>]"), "citgroup", RSC),
    (re.compile(rb"<(?:reftitle|first_author|partOfCode)>"), "citation", AGU),
    (re.compile(rb"<(?:biother|biaugrp|biauth)[\s>]"), "citation", AIP),
    (re.compile(rb"<ref\s[^<>]{0,300}citid="), "ref", APS),
    (re.compile(rb"<bb\s[^<>]{0,300}>"), "bb", BLACKWELL),
    (re.compile(rb"<bibliomixed[\s>]"), "bibliomixed", EDP),
    (re.compile(rb"<ref_citation[\s>]"), "reference", IOP_LIST),
    (
        re.compile(rb"<reference\s[^<>]{0,300}>\s{0,100}(?:<label>[^<>]{0,100}</label>\s{0,100})?<namegroup"),
        "reference",
        OUP_LIST,
    ),
    (re.compile(rb"<reference\s[^<>]{0,300}content_type="), "reference", COPERNICUS),
)
#: What the entries of a list in JATS, and of one in Crossref's XML, have.
_JATS: Final = re.compile(
    rb"<(?:mixed-citation|element-citation|nlm-citation)[\s>]|<citation\s[^<>]{0,300}(?:citation-type|publication-type)="
)
_CROSSREF: Final = re.compile(rb"<citation_list[\s>]")
#: The first element of a list.
_FIRST: Final = frozenset(
    ("ADSBIBCODE", "bib-reference", "Citation", "bib", "reftxt", "citgroup", "biblist", "citation", "ref", "references", "bb",
     "bibliomixed", "edp-biblio", "bibliography", "reference", "reference_list", "ref-list", "mixed-citation",
     "element-citation", "nlm-citation", "title", "label")
)  # fmt: skip
#: The line before a list of the Astrophysics Data System, with the bibcode of the citing paper.
_BIBCODE: Final = re.compile(rb"<ADSBIBCODE>([^<>]{0,40})</ADSBIBCODE>")
_PREFIX: Final = re.compile(rb"[<\s]([A-Za-z][\w.-]{0,20}):[A-Za-z]")
_DECLARED: Final = re.compile(rb"xmlns:([A-Za-z][\w.-]{0,20})\s{0,10}=")
#: Bytes in which the markup is recognised.
_HEAD: Final = 1 << 16


class References(Format):
    """A reference list as publishers deposit it with an index: one paper without text."""

    name: ClassVar[str] = "references"
    about: ClassVar[str] = "Reference lists in publishers' XML or JATS without an article and its root element"
    endings: ClassVar[tuple[str, ...]] = (".xml",)

    def recognises(self, content: Content) -> bool:
        """Return whether the first element is an entry of a known list, or the line of a bibcode before one."""
        if content.root is None or content.root[0] not in _FIRST:
            return False
        head = content.data[:_HEAD]
        return any(sign.search(head) for sign in (_JATS, _CROSSREF, *(sign for sign, _, _ in _LISTS)))

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the list; a list of each paper if there are bibcodes. Raises NotAPaper without a known entry."""
        data, _ = plain_markup(content.data, content.name, options.limits)
        encoding = ENCODING.match(data[:300])
        declared = encoding[0] if encoding else b""
        start, *rest = _BIBCODE.split(data)
        blocks: list[tuple[str | None, bytes]] = [] if rest else [(None, start)]
        blocks += [
            (code.decode("ascii", "replace").strip(), declared + each) for code, each in zip(rest[::2], rest[1::2], strict=True)
        ]
        if len(blocks) > max(1, options.limits.references):
            raise TooLarge(f"{content.name}: more than {options.limits.references} lists: divide the file")
        found: dict[str, Parsed] = {}
        for bibcode, block in blocks:
            own = content.source if len(blocks) == 1 else None
            named = Content(block, papers.own_name(block, own, bibcode if bibcode not in found else None))
            named.name = content.name
            for parsed in _list(named, options):
                found.setdefault(parsed.paper.id, parsed)
            if sum(len(each.paper.references) for each in found.values()) > options.limits.references:
                raise TooLarge(f"{content.name}: more than {options.limits.references} references in all: divide the file")
        if not found:
            raise NotAPaper(f"{content.name}: a reference list in no known markup")
        return tuple(found.values())


def _list(content: Content, options: Options) -> tuple[Parsed, ...]:
    """Return the list of one paper; nothing if its entries are of no known markup."""
    head = content.data[:_HEAD]
    for sign, entry, markup in _LISTS:
        if sign.search(head):
            tree, warnings = read_tree(_rooted(content.data, entry, ("references",)), content.name, options.limits)
            plain_names(tree)
            return (read(tree, tuple(warnings), markup, content, options),)
    if _CROSSREF.search(head):
        return Deposits().parse(content, options)
    if _JATS.search(head):
        whole = _rooted(content.data, "ref", ("article", "back", "ref-list"))
        try:
            return (Parsed(jats.parse(whole, source=content.source, limits=options.limits, infer=options.infer)),)
        except (NotAPaper, TooLarge) as error:  # they name the bibcode
            raise type(error)(f"{content.name}: {error}") from None
    return ()


def _rooted(data: bytes, entry: str, roots: tuple[str, ...]) -> bytes:
    """Return the XML inside these elements, with its prefixes declared, and without end tags of entries that are not open."""
    declared = ENCODING.match(data[:300])
    encoding = declared[1].decode("ascii") if declared else "utf-8"
    try:
        text = data.decode(encoding, "replace")
    except LookupError:
        text = data.decode("utf-8", "replace")
    data = _balanced(DECLARATION.sub("", text, count=1).encode(), entry)
    prefixes = set(_PREFIX.findall(data)) - set(_DECLARED.findall(data)) - {b"xml", b"xmlns", b"http", b"https"}
    spaces = b"".join(b' xmlns:%s="urn:%s"' % (prefix, prefix) for prefix in sorted(prefixes)[:_MAX_PREFIXES])
    start = b"<" + roots[0].encode() + spaces + b">" + b"".join(b"<%s>" % name.encode() for name in roots[1:])
    return start + data + b"".join(b"</%s>" % name.encode() for name in reversed(roots))


def _balanced(data: bytes, entry: str) -> bytes:
    """Return the XML without end tags of ``entry`` that end none."""
    tag = re.compile(rb"<(/?)(?:[\w.-]{1,20}:)?" + entry.encode() + rb"(?=[\s/>])[^<>]{0,1000}>")
    parts: list[bytes] = []
    at = depth = 0
    for each in tag.finditer(data):
        if not each[1]:
            depth += not each[0].endswith(b"/>")
        elif depth:
            depth -= 1
        else:
            parts.append(data[at : each.start()])
            at = each.end()
    return b"".join((*parts, data[at:]))


#: Maximum number of prefixes that are declared.
_MAX_PREFIXES: Final = 20
