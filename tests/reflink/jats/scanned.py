"""The scanner's result in the form of `tests.reflink.jats.plain`, to be compared field by field."""

from __future__ import annotations

from typing import Any

from lxml import etree

from reflink.jats import Limits
from reflink.jats.citation import read_citation
from reflink.jats.document import Document, read
from reflink.jats.entries import scanned
from reflink.jats.scanner.vocabulary import CITATION, ELEMENT, MIXED, NLM, REF
from reflink.jats.sourcetext import line
from tests.reflink.jats import plain

_ELEMENTS = {REF: "ref", MIXED: "mixed-citation", ELEMENT: "element-citation", CITATION: "citation", NLM: "nlm-citation"}


def entries(document: Document) -> list[plain.Entry]:
    """All entries that say anything."""
    found: list[plain.Entry] = []
    scan, kinds = scanned(document, "x", Limits())
    at = 0
    for *citations, xml_id, label in scan:
        entry = plain.Entry(line(xml_id), line(label))
        numbers = {0: 0}  # of the <citation-alternatives>, as they come; the scanner's may have gaps
        for found_said, (code, alternatives) in zip(citations, kinds[at : at + len(citations)], strict=True):
            said = _finished(found_said, spaced=code != ELEMENT)
            if said["raw_text"] or "ids" in said:
                entry.kinds.append((_ELEMENTS[code], numbers.setdefault(alternatives, len(numbers))))
                entry.citations.append(said)
        at += len(citations)
        if entry.citations:
            found.append(entry)
    return found


def _finished(said: dict[str, Any], *, spaced: bool) -> dict[str, Any]:
    read_citation(said, spaced=spaced)
    for name in ("ids", "ids_weak"):
        if name in said:
            said[name] = {kind: value for kind, value in said[name] if value}
    return said


def assert_same(data: bytes, name: str, *, own_tree: bool = False) -> int:
    """Compares both readings of one article and returns the number of citations.

    The plain one is of ``data`` as lxml reads it (``own_tree``), or of the well-formed bytes that were made of it.
    """
    document = read(data, name, Limits())
    article = etree.fromstring(data if own_tree else document.source, _PARSER)
    expected, found = plain.entries(article), entries(document)
    for ours, theirs in zip(found, expected, strict=False):
        for said, should in zip(ours.citations, theirs.citations, strict=False):
            assert said == should, name
        assert ours == theirs, name
    assert len(found) == len(expected), name
    return sum(len(entry.citations) for entry in found)


_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
