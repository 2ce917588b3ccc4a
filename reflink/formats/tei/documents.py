"""The papers of a TEI document, with their citations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lxml import etree

from reflink.bibliography import papers
from reflink.bibliography.citation import Citation, described, printed
from reflink.bibliography.references import Entry
from reflink.entities import Ids
from reflink.errors import NotAPaper, TooLarge
from reflink.formats.content import Content
from reflink.formats.format import Options, Parsed
from reflink.formats.grobid.checking import doubted, warning
from reflink.formats.grobid.printed import corrected, unbroken
from reflink.formats.tei import bibl
from reflink.formats.tei.header import header
from reflink.formats.tei.names import XML_ID, name_of, tags, text_of
from reflink.formats.tei.paragraphs import paragraphs
from reflink.identifiers import extract
from reflink.markup.tree import read_tree

#: The elements that may hold one citation each.
CITATIONS: Final = tags("biblStruct", "bibl")
_PAPERS: Final = tags("TEI", "TEI.2")
_FULL: Final = tags("biblFull")
#: Roots that are one paper.
_ALONE: Final = frozenset(("TEI", "TEI.2", "listBibl", "biblStruct", "biblFull"))
#: Names of elements in which another citation is not one of the bibliography.
_AROUND: Final = frozenset(("relatedItem", "biblFull", "teiHeader"))
_CITATION: Final = frozenset(("biblStruct", "bibl"))
#: Values of ``type`` of a division that holds a bibliography without ``listBibl``.
_BIBLIOGRAPHIES: Final = frozenset(("references", "bibliography", "bibliographie", "bibliogr"))
_MAX_LABEL: Final = 40
_Found = tuple[etree._Element, Entry]


@dataclass(frozen=True, slots=True)
class Document:
    """One paper, and the element of each entry of its bibliography."""

    parsed: Parsed
    elements: tuple[etree._Element, ...]


def documents(data: bytes, content: Content, options: Options) -> list[Document]:
    """Return the papers of a document. Raises NotAPaper and TooLarge."""
    root, warnings = read_tree(data, content.name, options.limits)
    found: list[Document] = []
    parts = _parts(root)
    if not parts:
        raise NotAPaper(f"{content.name}: TEI without a paper")
    if len(parts) > max(1, options.limits.references):
        raise TooLarge(f"{content.name}: more than {options.limits.references} papers")
    names: set[str] = set()
    count = 0
    for part in parts:
        alone = data if len(parts) == 1 else etree.tostring(part)
        document = _document(part, alone, content, options, tuple(warnings), several=len(parts) > 1)
        count += len(document.parsed.paper.references)
        if count > options.limits.references:
            raise TooLarge(f"{content.name}: more than {options.limits.references} references")
        if document.parsed.paper.id not in names:  # a paper may be in a corpus twice
            names.add(document.parsed.paper.id)
            found.append(document)
    return found


def _parts(root: etree._Element) -> list[etree._Element]:
    """Return the elements that hold one paper each: those of a corpus, those of HAL, or the root."""
    wanted = _PAPERS if name_of(root) == "teiCorpus" else _FULL
    inside = frozenset(map(name_of, root.iter(*wanted)))
    found = [each for each in root.iter(*wanted) if not any(name_of(up) in inside for up in each.iterancestors())]
    return found or ([root] if name_of(root) in _ALONE and len(root) else [])


def _document(
    part: etree._Element, data: bytes, content: Content, options: Options, warnings: tuple[str, ...], *, several: bool
) -> Document:
    description = part if name_of(part) == "biblFull" else next((each for each in part if name_of(each) == "teiHeader"), None)
    fields, stated = header(description, part)
    doubts: list[str] = []
    found = list(_entries(part, doubts))
    if doubts:
        warnings += (warning(doubts),)
    # Papers of one document have its name only if they have none of their own.
    source = None if several else content.source
    paper = papers.paper(
        fields, [entry for _, entry in found], own_name=papers.own_name(data, source, stated), source=content.source,
        limits=options.limits, infer=options.infer, warnings=warnings,
    )  # fmt: skip
    text = paragraphs(part, description) if options.text else ()
    return Document(Parsed(paper, text), tuple(element for element, _ in found))


def _entries(part: etree._Element, doubts: list[str]) -> Iterator[_Found]:
    """Yield the citations of the bibliography and of the notes, in the order of the document."""
    if name_of(part) in ("biblStruct", "bibl"):
        elements: Iterator[etree._Element] = iter((part,))
    elif name_of(part) == "biblFull":
        return
    elif name_of(part) == "listBibl":
        elements = part.iter(*CITATIONS)
    else:
        elements = (each for child in part if name_of(child) != "teiHeader" for each in child.iter(*CITATIONS))
    around = None  # the list of the element before, as most are in one list
    for element in elements:
        parent = element.getparent()
        if parent is None or parent is not around:
            if not _is_citation(element):
                continue
            around = parent
        citation = _citation(element, doubts)
        if citation is not None:
            label = element.get("n")
            yield element, Entry(element.get(XML_ID), label[:_MAX_LABEL] if label else None, [citation])


def _is_citation(element: etree._Element) -> bool:
    """Return whether an element is one of a bibliography, or a ``biblStruct`` elsewhere, and not a part of another one."""
    parent = element.getparent()
    if parent is None:
        return True
    listed = whole = name_of(element) == "biblStruct"
    for up in element.iterancestors():
        name = name_of(up)
        # In broken XML the end of the citation before may be missing.
        if name in _AROUND or (name in _CITATION and not whole):
            return False
        listed = listed or name == "listBibl" or (name == "div" and (up.get("type") or "").lower() in _BIBLIOGRAPHIES)
    return listed


def _citation(element: etree._Element, doubts: list[str]) -> Citation | None:
    stated = bibl.read(element)
    fields, ids = bibl.fields(stated), bibl.identifiers(stated)
    if stated.raw:
        stated.raw = unbroken(stated.raw)
        corrected(fields, stated.raw)
    doubt = doubted(stated.raw, fields, ids)
    if doubt is not None:
        doubts.append(element.get(XML_ID) or " ".join(ids.values()))
        ids = {}
        if doubt == "work":
            fields = {"kind": fields["kind"]}
    text = stated.raw or _text(element, stated, fields)
    found = described(text, fields, Ids.made({**ids}) if ids else None)
    if found is not None and stated.links and doubt is None:
        _add_linked(found, stated.links)
    return found


def _text(element: etree._Element, stated: bibl.Bibl, fields: Citation) -> str:
    """Return the text of a citation that has no printed one."""
    if name_of(element) == "bibl":
        mixed = "".join((element.text or "", *(child.tail or "" for child in element))).strip()
        return text_of(element) if mixed else " ".join(filter(None, map(text_of, element)))
    text = printed({name: value for name, value in fields.items() if value not in (None, "", ())})
    return " ".join((text, *stated.notes)).strip() or " ".join(" ".join(map(str, element.itertext())).split())


def _add_linked(citation: Citation, links: list[str]) -> None:
    """Add the identifiers of addresses, which GROBID may have cut or glued to the next word, to those found in text."""
    ids, weak = citation.get("ids"), citation.get("ids_weak")
    found = {kind: value for kind, value in extract(" ".join(links)) if value and not (ids and getattr(ids, kind))}
    if found:
        citation["ids_weak"] = Ids.made({**found, **{kind: value for kind, value in weak or () if value}})
