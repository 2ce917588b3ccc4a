"""The scanner's result in the form of `tests.reflink.jats.plain`, for a comparison of each field."""

from __future__ import annotations

from operator import itemgetter

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
    """Return all entries with a citation that has text or identifiers."""
    found: list[plain.Entry] = []
    scan, kinds = scanned(document, "x", Limits())
    at = 0
    for *citations, xml_id, label in scan:
        entry = plain.Entry(line(xml_id), line(label))
        numbers = {0: 0}  # of the <citation-alternatives>, without the gaps that the scanner's numbers may have
        for citation, (code, alternatives, _) in zip(citations, kinds[at : at + len(citations)], strict=True):
            read_citation(citation, spaced=code != ELEMENT)
            if citation["raw_text"] or "ids" in citation:
                ids = {name: dict(filter(itemgetter(1), citation[name])) for name in ("ids", "ids_weak") if name in citation}
                entry.kinds.append((_ELEMENTS[code], numbers.setdefault(alternatives, len(numbers))))
                entry.citations.append(citation | ids)
        at += len(citations)
        if entry.citations:
            found.append(entry)
    return found


def assert_same(data: bytes, name: str, *, own_tree: bool = False) -> int:
    """Compare both readings of an article; return the number of citations.

    The plain reading is of the tree of ``data`` (``own_tree``), or of the well-formed bytes that the parser derived from it.
    """
    document = read(data, name, Limits())
    article = etree.fromstring(data if own_tree else document.source, _PARSER)
    expected, found = plain.entries(article), entries(document)
    for ours, theirs in zip(found, expected, strict=False):
        for our, their in zip(ours.citations, theirs.citations, strict=False):
            assert our == their, name
        assert ours == theirs, name
    assert len(found) == len(expected), name
    return sum(len(entry.citations) for entry in found)


_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
