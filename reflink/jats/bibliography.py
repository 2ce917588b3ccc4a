"""Read the entries of an article; merge citation elements that describe the same work."""

from __future__ import annotations

from typing import Final

from reflink.bibliography.citation import Citation, raw_query, tagged
from reflink.bibliography.references import Entry
from reflink.entities import Ids
from reflink.identifiers import NO_IDS
from reflink.jats.citation import read_citation
from reflink.jats.document import Document
from reflink.jats.entries import scanned
from reflink.jats.scanner.vocabulary import ELEMENT, MIXED
from reflink.jats.sourcetext import attribute
from reflink.limits import Limits
from reflink.text import normalise

_UNSTRUCTURED: Final = "display-unstructured"
#: Share of the words of the shorter description that the other must contain for both to describe the same work.
_SAME_WORDS: Final = 0.5
#: Number of preceding works of the entry that a citation is compared with; bounds the comparisons.
_NEAR: Final = 16


def entries(document: Document, name: str, limits: Limits) -> list[Entry]:
    """Return the entries with at least one work, including the entries of sub-articles and outside every ``<ref>``."""
    return [entry for entry, _ in placed(document, name, limits)]


def placed(document: Document, name: str, limits: Limits) -> list[tuple[Entry, list[list[int]]]]:
    """Return the entries as `entries` does, and for each work where in the XML the names of its citation elements begin."""
    found: list[tuple[Entry, list[list[int]]]] = []
    scan, kinds = scanned(document, name, limits)
    at = 0
    for entry in scan:
        label, xml_id = entry.pop(), entry.pop()
        works, places = _works(entry, kinds[at : at + len(entry)])
        if works:
            found.append((Entry(attribute(xml_id) or None, label or None, works), places))
        at += len(entry)
    return found


def _works(citations: list[Citation], kinds: list[list[int]]) -> tuple[list[Citation], list[list[int]]]:
    """Return the works of one entry, and the places of each; merge two descriptions of the same work.

    ``kinds``: of each citation, its element code, the number of its ``<citation-alternatives>`` (0: none), and its place.
    """
    if len(citations) == 1:
        (citation,) = citations
        read_citation(citation, spaced=kinds[0][0] != ELEMENT)
        return (citations, [[kinds[0][2]]]) if citation["raw_text"] or "ids" in citation else ([], [])
    works: list[Citation] = []
    described: list[list[int]] = []
    places: list[list[int]] = []
    for citation, kind in zip(citations, kinds, strict=True):
        read_citation(citation, spaced=kind[0] != ELEMENT)
        if not citation["raw_text"] and "ids" not in citation:
            continue
        for at in reversed(range(max(0, len(works) - _NEAR), len(works))):
            if _same(described[at], kind, works[at], citation):
                printed = kind[0] == MIXED or citation.get("kind") == _UNSTRUCTURED
                works[at] = _merged(works[at], citation) if printed else _merged(citation, works[at])
                places[at].append(kind[2])
                break
        else:
            works.append(citation)
            described.append(kind)
            places.append([kind[2]])
    return works, places


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
