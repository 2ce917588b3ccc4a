"""A work of OpenAlex as a source record."""

from __future__ import annotations

import re
from typing import Any, Final

from reflink.entities import Ids, Work
from reflink.errors import BadRecord
from reflink.sources import values
from reflink.sources.source import SourceRecord
from reflink.sources.types import UNCITED, work_type
from reflink.workids import work_id

_KEY: Final = re.compile(r"(?i)(?:https?://openalex\.org/(?:works/)?)?(W\d{1,15})")
_DAY: Final = 86_400_000


def record(value: dict[str, Any], version: int = 0) -> SourceRecord:
    """Return the state of an OpenAlex work. ``version``: for one without ``updated_date``. Raises BadRecord without an id."""
    key = work_key(value.get("id"))
    if key is None:
        raise BadRecord("no id of an OpenAlex work")
    updated = values.milliseconds(value.get("updated_date"))
    kind = work_type("openalex", value.get("type_crossref")) or work_type("openalex", value.get("type"))
    if kind in UNCITED or value.get("is_paratext") is True:
        return SourceRecord(key, version if updated is None else updated, None)
    return SourceRecord(key, version if updated is None else updated, _work(value, key, kind))


def gone(work: Any, date: Any, into: Any = None) -> SourceRecord:
    """Return the state of a work deleted on a day, or merged into another one. Raises BadRecord for an invalid id or date.

    The version is the end of the day, because the work may have been updated earlier on this day.
    """
    key, other, day = work_key(work), work_key(into), values.milliseconds(date)
    if key is None or day is None:
        raise BadRecord("no id of an OpenAlex work, or no date")
    return SourceRecord(key, day - day % _DAY + _DAY - 1, None, replaced_by=None if other == key else other)


def work_key(value: Any) -> str | None:
    """Return ``W123`` from an OpenAlex id or its address."""
    found = _KEY.fullmatch(value) if type(value) is str else None
    return found[1].upper() if found else None


def _work(value: dict[str, Any], key: str, kind: str | None) -> Work:
    ids = _ids(value)
    names, groups = values.people((None, _name(each)) for each in values.mappings(value.get("authorships")))
    venue, others, issns = _venue(value, kind)
    biblio = values.mapping(value.get("biblio"))
    first = values.short(biblio.get("first_page"))
    last = values.short(biblio.get("last_page")) if first else None
    return Work.made({
        "id": work_id(ids, f"openalex:{key}"),
        "ids": ids,
        "title": values.text(value.get("title")) or values.text(value.get("display_name")),
        "authors": names,
        "collectives": groups,
        "venue": venue,
        "venue_abbreviations": others,
        "issns": issns,
        "year": values.year(value.get("publication_year")),
        "volume": values.short(biblio.get("volume")),
        "issue": values.short(biblio.get("issue")),
        "fpage": first,
        "lpage": last if last != first else None,
        "type": kind,
        "language": values.language(value.get("language")),
        "status": "retracted" if value.get("is_retracted") is True else None,
    })  # fmt: skip


def _ids(value: dict[str, Any]) -> Ids:
    """Return the identifiers. OpenAlex writes them as addresses, and a PMCID without its letters."""
    known = values.mapping(value.get("ids"))
    doi = known.get("doi")
    pmid, pmcid = (
        each.rstrip("/").rpartition("/")[2] if type(each) is str else each for each in (known.get("pmid"), known.get("pmcid"))
    )
    return values.ids(value.get("doi") if doi is None else doi, pmid, pmcid)


def _name(authorship: dict[str, Any]) -> str | None:
    """Return the name as printed, else that of the author's profile."""
    printed = values.short(authorship.get("raw_author_name"))
    return printed or values.short(values.mapping(authorship.get("author")).get("display_name"))


def _venue(value: dict[str, Any], kind: str | None) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """Return name, other names and ISSNs of the venue. A repository is the venue of a preprint only."""
    location = values.mapping(value.get("primary_location"))
    source = values.mapping(location.get("source") or value.get("host_venue"))
    if source.get("type") == "repository" and kind != "posted-content":
        return None, (), ()
    names = [
        *values.texts(source.get("display_name")), *values.texts(location.get("raw_source_name")),
        *values.texts(source.get("abbreviated_title")), *values.texts(source.get("alternate_titles")),
    ]  # fmt: skip
    venue, *others = dict.fromkeys(names) if names else (None,)
    issns = values.issns(source.get("issn")) or values.issns(source.get("issn_l"))
    return venue, tuple(each for each in others if each is not None), issns
