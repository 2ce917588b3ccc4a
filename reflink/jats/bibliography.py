"""All references of an article: which citation elements are one work, which are several, and what each is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lxml import etree

from reflink.entities import Ids, Reference
from reflink.errors import TooLarge
from reflink.identifiers import NO_IDS
from reflink.jats.citation import CITATIONS, Citation, read_citation
from reflink.jats.document import Limits
from reflink.jats.rawtext import text_of
from reflink.text import normalise

_ALTERNATIVES: Final = "citation-alternatives"
#: A citation in here is how to cite this very article.
_SELF: Final = ("front", "front-stub")
_UNSTRUCTURED: Final = "display-unstructured"
#: Share of the shorter description's words that the other must have for both to be one work.
_SAME_WORDS: Final = 0.5
#: Longest XML id that goes into a reference's id, in characters.
_MAX_XML_ID: Final = 100


@dataclass
class Entry:
    """One ``<ref>`` (or a citation outside any) and the works it cites."""

    xml_id: str | None
    label: str | None
    citations: list[Citation]


def references(article: etree._Element, citing: str, name: str, limits: Limits) -> tuple[Reference, ...]:
    """The works cited, in document order. Raises TooLarge beyond ``limits.references``."""
    found = list(entries(article, name, limits))
    keys = _keys(found)
    made: list[Reference] = []
    for entry, key in zip(found, keys, strict=True):
        for ordinal, citation in enumerate(entry.citations, start=1):
            values = {"label": entry.label} | {field: value for field, value in vars(citation).items() if value is not None}
            made.append(
                Reference(
                    id=f"{citing}#{key}.{ordinal}", citing=citing, position=len(made) + 1, xml_id=entry.xml_id, **values,
                )
            )  # fmt: skip
    return tuple(made)


def entries(article: etree._Element, name: str, limits: Limits) -> Iterator[Entry]:
    """The bibliography's entries that cite anything, sub-articles' and stray citations' included."""
    count = 0
    for element in article.iter("ref", *CITATIONS):
        if element.tag == "ref":
            entry = _entry(element)
        elif next(element.iterancestors("ref", *CITATIONS, *_SELF), None) is None:
            entry = Entry(_xml_id(element), None, _works([element]))
        else:
            continue
        if entry.citations:
            count += len(entry.citations)
            if count > limits.references:
                raise TooLarge(f"{name}: more than {limits.references} references")
            yield entry


def _entry(ref: etree._Element) -> Entry:
    elements = [item for item in ref.iter(*CITATIONS) if next(item.iterancestors(*CITATIONS), None) is None]
    citations = _works(elements)
    if not elements and text_of(ref):
        citations = [read_citation(ref)]
    label = ref.find("label")
    return Entry(_xml_id(ref), (text_of(label) or None) if label is not None else None, citations)


def _xml_id(element: etree._Element) -> str | None:
    return (element.get("id") or "").strip() or None


def _works(elements: list[etree._Element]) -> list[Citation]:
    """The works of one entry: two descriptions of one work become one."""
    works: list[Citation] = []
    described: list[etree._Element] = []
    for element in elements:
        citation = read_citation(element)
        if not citation.raw_text and not citation.ids.keys():
            continue
        for at in reversed(range(len(works))):
            if _same(described[at], element, works[at], citation):
                printed = element.tag == "mixed-citation" or citation.kind == _UNSTRUCTURED
                works[at] = _merged(works[at], citation) if printed else _merged(citation, works[at])
                break
        else:
            works.append(citation)
            described.append(element)
    return works


def _same(first: etree._Element, second: etree._Element, one: Citation, other: Citation) -> bool:
    """Whether two citations of one entry describe one work: they say so, are equal, or share words in two kinds of markup."""
    parent = second.getparent()
    if parent is not None and parent.tag == _ALTERNATIVES and parent is first.getparent():
        return True
    if _UNSTRUCTURED in (one.kind, other.kind) or one.raw_text == other.raw_text:
        return True
    if first.tag == second.tag:
        return False
    fewer, more = sorted((_words(one), _words(other)), key=len)
    return len(fewer & more) >= _SAME_WORDS * len(fewer)


def _words(citation: Citation) -> frozenset[str]:
    return frozenset(normalise(citation.raw_query, lexical=False).split())


def _merged(tagged: Citation, printed: Citation) -> Citation:
    """One work from two descriptions: the text as printed, the fields of the better tagged one, identifiers from both."""
    best, other = (printed, tagged) if printed.tagged > tagged.tagged else (tagged, printed)
    blank = {name for name, value in vars(best).items() if value in (None, (), NO_IDS)}
    values = vars(best) | {name: value for name, value in vars(other).items() if name in blank}
    ids = other.ids.to_dict() | best.ids.to_dict()
    weak = other.ids_weak.to_dict() | best.ids_weak.to_dict()
    values |= {"raw_text": printed.raw_text, "raw_noid": printed.raw_noid, "ids": Ids(**ids)}
    values |= {"ids_weak": Ids(**{kind: value for kind, value in weak.items() if kind not in ids})}
    return Citation(**values)


def _keys(found: list[Entry]) -> list[str]:
    """What names each entry within the paper: its XML id where that is unique, else the position of its first work."""
    positions: list[str] = []
    position = 1
    for entry in found:
        positions.append(str(position))
        position += len(entry.citations)
    times = Counter(entry.xml_id for entry in found)
    keys = [entry.xml_id if entry.xml_id and times[entry.xml_id] == 1 and _usable(entry.xml_id) else None for entry in found]
    # An XML id may look like the position of an entry that has none.
    taken = {positions[at] for at, key in enumerate(keys) if key is None}
    while clash := [at for at, key in enumerate(keys) if key in taken]:
        for at in clash:
            keys[at] = None
            taken.add(positions[at])
    return [key if key is not None else positions[at] for at, key in enumerate(keys)]


def _usable(xml_id: str) -> bool:
    return len(xml_id) <= _MAX_XML_ID and xml_id.isprintable() and not any(c.isspace() or c == "#" for c in xml_id)
