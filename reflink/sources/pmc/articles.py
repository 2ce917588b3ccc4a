"""Read one article version of PMC: its XML, or the JSON object of its metadata."""

from __future__ import annotations

import re
from typing import Any, Final

from reflink.entities import Ids, Work
from reflink.errors import BadRecord
from reflink.identifiers import normalise_doi, normalise_pmcid, normalise_pmid
from reflink.jats import parse_front
from reflink.recognition import recognise
from reflink.sources.languages import language_code
from reflink.sources.markup import plain
from reflink.sources.source import SourceRecord
from reflink.sources.titles import split_status
from reflink.workids import work_id

#: ``article-type`` of articles that are not published in a journal, in Crossref's terms.
_TYPES: Final = {"preprint": "posted-content", "dissertation": "dissertation", "book-review": "journal-article"}
#: The version of an article in the name of its file: PMC13901.2.xml.
_VERSION: Final = re.compile(r"PMC\d{1,9}\.(\d{1,3})\.")
#: Factor of the version of an article in that of a record, greater than any time in milliseconds.
_ARTICLE_VERSION: Final = 10**14
_MAX_CITATION: Final = 1_000


def article(xml: bytes, name: str, version: int) -> SourceRecord:
    """Return the record of an article's XML; its references are not read. ``version``: of its file.

    The key is the PMCID, else the id of the work, with ``:xml`` behind it. Raises NotAPaper and TooLarge, which name ``name``.
    """
    paper = parse_front(xml, source=name)
    work = paper.work()
    changes: dict[str, Any] = {
        "type": _TYPES.get(paper.article_type or "", "journal-article"),
        "language": language_code(paper.language or ""),
    }
    title, marked = split_status(work.title or "")
    if marked:
        changes |= {"title": title, "status": work.status or marked}
    work = work.model_copy(update=changes)
    found = _VERSION.search(name.rpartition("/")[2])
    return SourceRecord(f"{work.ids.pmcid or work.id}:xml", version + (int(found[1]) if found else 1) * _ARTICLE_VERSION, work)


def metadata(value: dict[str, Any], version: int) -> SourceRecord:
    """Return the record of the JSON object that PMC's cloud service has for an article version. ``version``: of its file.

    Journal, year, volume and pages come from the text of the citation. Raises BadRecord without a PMCID.
    """
    pmcid = normalise_pmcid(_text(value, "pmcid"))
    if pmcid is None:
        raise BadRecord(f"pmcid: not a PMCID: {_text(value, 'pmcid')[:60]!r}")
    known = {"doi": normalise_doi(_text(value, "doi")), "pmid": normalise_pmid(_text(value, "pmid")), "pmcid": pmcid}
    ids = Ids.made({kind: each for kind, each in known.items() if each})
    title, marked = split_status(plain(_text(value, "title")).rstrip("."))
    place = recognise(plain(_text(value, "citation")[:_MAX_CITATION]))
    fields = {
        "title": title,
        "venue": place and place.venue,
        "year": place and place.year,
        "volume": place and place.volume,
        "issue": place and place.issue,
        "fpage": place and place.first_page,
        "lpage": place and place.last_page,
        "status": "retracted" if value.get("is_retracted") is True else marked,
        "type": "journal-article",
    }
    work = Work.made({"id": work_id(ids, None), "ids": ids, **{name: each for name, each in fields.items() if each}})
    number = _text(value, "version")
    article_version = int(number) if number.isascii() and number.isdigit() and len(number) <= 3 else 1
    return SourceRecord(f"{pmcid}:json", version + article_version * _ARTICLE_VERSION, work, partial=not title)


def _text(value: dict[str, Any], name: str) -> str:
    found = value.get(name)
    return found if type(found) is str else str(found) if type(found) is int and abs(found) < 10**12 else ""
