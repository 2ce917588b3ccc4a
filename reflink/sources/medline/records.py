"""Read one record of PubMed: an article, a book or chapter, or a list of deletions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lxml import etree

from reflink.errors import BadRecord
from reflink.identifiers import normalise_pmid
from reflink.sources.medline.article import article
from reflink.sources.medline.book import book
from reflink.sources.medline.fields import first, text_of
from reflink.sources.medline.parsing import complete
from reflink.sources.source import SourceRecord

#: Parts of a version: ``year``, ``PMID Version``, number of the file or month and day of the revision.
YEAR: Final = 10**11
_PMID_VERSION: Final = 10**9
#: Greatest version of a PMID; greater ones count as this one.
_MAX_PMID_VERSION: Final = 99


def record(xml: bytes, series: int = 0) -> SourceRecord:
    """Return the first record of an element (``PubmedArticle``, ``PubmedBookArticle``, …). ``series``: the version of its file.

    Raises BadRecord if the element is not well-formed, has another name, or has no PMID.
    """
    found = next(records_of(complete(xml), series), None)
    if not isinstance(found, SourceRecord):
        raise found or BadRecord("a list of deletions without PMID")
    return found


def records_of(element: etree._Element, series: int) -> Iterator[SourceRecord | BadRecord]:
    """Yield the record of an article or book, and for each PMID of a list of deletions a withdrawn record or a BadRecord.

    ``series``: the version of the file; 0 for a file outside the numbered files of PubMed, whose records are ordered by the
    date of their revision. Raises BadRecord if the element has another name or no PMID.
    """
    match element.tag:
        case "PubmedArticle":
            citation = first(element, "MedlineCitation")
            pmid = first(citation, "PMID")
            key = _pmid(pmid)
            yield SourceRecord(key, _version(pmid, series or _revised(citation)), article(element, citation, key))
        case "PubmedBookArticle":
            document = first(element, "BookDocument")
            pmid = first(document, "PMID")
            key = _pmid(pmid)
            yield SourceRecord(key, _version(pmid, series or _revised(document)), book(element, document, key))
        case "DeleteCitation" | "DeleteDocument":
            for pmid in element.iterchildren("PMID"):
                try:
                    yield SourceRecord(_pmid(pmid), _version(pmid, series), None)
                except BadRecord as error:
                    yield error
        case other:
            raise BadRecord(f"{other!s:.80}: not a record of PubMed")


def _pmid(element: etree._Element) -> str:
    text = text_of(element)
    pmid = normalise_pmid(text) if text.isdigit() else None
    if pmid is None:
        raise BadRecord(f"PMID: not a number of at most 8 digits: {text[:40]!r}")
    return pmid


def _version(pmid: etree._Element, series: int) -> int:
    """Return the version of a record. A newer version of the PMID counts more than a newer file of the same year.

    A deletion names one version of a PMID, so it does not remove a newer one.
    """
    number = pmid.get("Version") or "1"
    version = int(number[:4]) if number.isascii() and number.isdigit() else 1
    return series + min(version, _MAX_PMID_VERSION) * _PMID_VERSION


def _revised(citation: etree._Element) -> int:
    """Return the date of the last revision as the version of a file; 0 without a date."""
    date = next(citation.iterchildren("DateRevised"), None)
    parts = [part.text or "" for part in date] if date is not None else []
    if len(parts) < 3 or not all(part.isascii() and part.isdigit() and len(part) <= 4 for part in parts[:3]):
        return 0
    year, month, day = map(int, parts[:3])
    return year * YEAR + month * 100 + day
