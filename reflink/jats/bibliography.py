"""Build all references of an article: merge citation elements that describe the same work and assign reference ids."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from reflink.entities import Ids, Inferred, Reference
from reflink.errors import TooLarge
from reflink.identifiers import NO_IDS
from reflink.jats import division
from reflink.jats.citation import DESCRIBING, Citation, raw_query, read_citation, tagged
from reflink.jats.document import Document, Limits
from reflink.jats.entries import scanned
from reflink.jats.scanner.vocabulary import ELEMENT, MIXED
from reflink.jats.sourcetext import attribute
from reflink.recognition import recognise
from reflink.recognition.kinds import kind_of
from reflink.text import normalise

_UNSTRUCTURED: Final = "display-unstructured"
#: Share of the words of the shorter description that the other must contain for both to describe the same work.
_SAME_WORDS: Final = 0.5
#: Number of preceding works of the entry that a citation is compared with; bounds the comparisons.
_NEAR: Final = 16
#: Maximum characters per paper of the citations whose fields are inferred, which bounds the time (5-6 µs a character). It is
#: 20,000 citations of 100 characters; the longest real bibliographies have a tenth of it.
MAX_INFERRED: Final = 2_000_000
#: Maximum length, in characters, of an XML id that is used in a reference's id.
_MAX_XML_ID: Final = 100


@dataclass(slots=True)
class Entry:
    """One ``<ref>``, or a citation outside every ``<ref>``, and the works it cites."""

    xml_id: str | None
    label: str | None
    works: list[Citation]


def references(document: Document, citing: str, name: str, limits: Limits, *, infer: bool) -> tuple[tuple[Reference, ...], int]:
    """Return the references of the article in document order; with ``infer``, recognise the fields of untagged citations.

    Also return the number of untagged citations that were not read because they exceed MAX_INFERRED. Raises TooLarge beyond
    ``limits.references``.
    """
    found = [_divided(entry) for entry in entries(document, name, limits)]
    if sum(len(entry.works) for entry in found) > limits.references:
        raise TooLarge(f"{name}: more than {limits.references} references")
    made: list[Reference] = []
    remaining, unread = MAX_INFERRED, 0
    for entry, key in zip(found, _keys(found), strict=True):
        about: dict[str, Any] = {"citing": citing}
        if entry.xml_id:
            about["xml_id"] = entry.xml_id
        if entry.label:
            about["label"] = entry.label
        for ordinal, citation in enumerate(entry.works, start=1):
            if infer and citation.keys().isdisjoint(DESCRIBING):
                text = raw_query(citation)
                remaining -= len(text)
                if remaining < 0:
                    unread += 1
                elif inferred := _inferred(text, citation["raw_text"]):
                    citation["inferred"] = inferred
            made.append(Reference.made({**about, "id": f"{citing}#{key}.{ordinal}", "position": len(made) + 1, **citation}))
    return tuple(made), unread


def _inferred(text: str, printed: str) -> Inferred | None:
    """Return the fields recognised in ``text``, and the kind that the ``printed`` citation, with its addresses, shows."""
    inferred, kind = recognise(text), kind_of(printed)
    return inferred if kind is None else (inferred or Inferred()).model_copy(update={"kind": kind})


def _divided(entry: Entry) -> Entry:
    """Return the entry with one citation for each work that a text of it cites."""
    found = [work for citation in entry.works for work in division.works(citation)]
    return entry if len(found) == len(entry.works) else Entry(entry.xml_id, entry.label, found)


def entries(document: Document, name: str, limits: Limits) -> list[Entry]:
    """Return the entries with at least one work, including the entries of sub-articles and outside every ``<ref>``."""
    found: list[Entry] = []
    scan, kinds = scanned(document, name, limits)
    at = 0
    for entry in scan:
        label, xml_id = entry.pop(), entry.pop()
        if works := _works(entry, kinds[at : at + len(entry)]):
            found.append(Entry(attribute(xml_id) or None, label or None, works))
        at += len(entry)
    return found


def _works(citations: list[Citation], kinds: list[list[int]]) -> list[Citation]:
    """Return the works of one entry; merge two descriptions of the same work.

    ``kinds``: of each citation, its element code and the number of its ``<citation-alternatives>`` (0: none).
    """
    if len(citations) == 1:
        (citation,) = citations
        read_citation(citation, spaced=kinds[0][0] != ELEMENT)
        return citations if citation["raw_text"] or "ids" in citation else []
    works: list[Citation] = []
    described: list[list[int]] = []
    for citation, kind in zip(citations, kinds, strict=True):
        read_citation(citation, spaced=kind[0] != ELEMENT)
        if not citation["raw_text"] and "ids" not in citation:
            continue
        for at in reversed(range(max(0, len(works) - _NEAR), len(works))):
            if _same(described[at], kind, works[at], citation):
                printed = kind[0] == MIXED or citation.get("kind") == _UNSTRUCTURED
                works[at] = _merged(works[at], citation) if printed else _merged(citation, works[at])
                break
        else:
            works.append(citation)
            described.append(kind)
    return works


def _same(first: list[int], second: list[int], one: Citation, other: Citation) -> bool:
    """Whether two citations of one entry describe the same work.

    They do if they are in the same ``<citation-alternatives>``, if one is marked as unstructured display, if their texts are
    equal, or if their markup is of two kinds and they share words.
    """
    if second[1] and first[1] == second[1]:
        return True
    if _UNSTRUCTURED in (one.get("kind"), other.get("kind")) or one["raw_text"] == other["raw_text"]:
        return True
    if first[0] == second[0]:
        return False
    fewer, more = sorted((_words(one), _words(other)), key=len)
    return len(fewer & more) >= _SAME_WORDS * len(fewer)


def _words(citation: Citation) -> frozenset[str]:
    return frozenset(normalise(raw_query(citation), lexical=False).split())


def _merged(structured: Citation, printed: Citation) -> Citation:
    """Merge two descriptions of a work: the printed text, the fields of the one with more tags, the identifiers of both."""
    best, other = (printed, structured) if tagged(printed) > tagged(structured) else (structured, printed)
    merged = {**other, **best, "raw_text": printed["raw_text"]}
    if "last_names" in best:  # given names must match the last names one to one
        merged["given_names"] = best.get("given_names", ())
    merged.pop("raw_noid", None)
    if "raw_noid" in printed:
        merged["raw_noid"] = printed["raw_noid"]
    for field in ("ids", "ids_weak"):
        both = {**_stated(other, field), **_stated(best, field)}
        if field == "ids_weak":
            both = {kind: value for kind, value in both.items() if not getattr(merged.get("ids", NO_IDS), kind)}
        merged.pop(field, None)
        if both:
            merged[field] = Ids.made(both)
    return merged


def _stated(citation: Citation, field: str) -> dict[str, str]:
    return {kind: value for kind, value in citation.get(field, NO_IDS) if value}


def _keys(found: list[Entry]) -> list[str]:
    """Return the unique name of each entry within the paper: its XML id if unique, else the position of its first work."""
    positions: list[str] = []
    position = 1
    for entry in found:
        positions.append(str(position))
        position += len(entry.works)
    ids = [entry.xml_id for entry in found]
    times = Counter(ids)
    keys = [xml_id if xml_id and times[xml_id] == 1 and _usable(xml_id) else None for xml_id in ids]
    # An XML id may equal the position of an entry that has no usable one; the position wins.
    holders = {key: at for at, key in enumerate(keys) if key is not None}
    waiting = [positions[at] for at, key in enumerate(keys) if key is None]
    while waiting:
        if (at := holders.pop(waiting.pop(), None)) is not None:
            keys[at] = None
            waiting.append(positions[at])
    return [key if key is not None else positions[at] for at, key in enumerate(keys)]


def _usable(xml_id: str) -> bool:
    return len(xml_id) <= _MAX_XML_ID and xml_id.isprintable() and "#" not in xml_id and len(xml_id.split()) == 1
