"""CSL-JSON: exports of reference managers, and answers of DOI resolvers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from reflink.entities import Ids, Work
from reflink.errors import BadRecord
from reflink.names import divided
from reflink.sources import values
from reflink.sources.json_source import JsonSource
from reflink.sources.pages import first_and_last
from reflink.sources.source import SourceRecord
from reflink.sources.types import BOOKS, UNCITED, work_type
from reflink.workids import work_id

_VENUES: Final = ("container-title", "container-title-short", "journalAbbreviation")


class Csl(JsonSource):
    """Items of CSL-JSON. Key: the DOI, else the item's id with a digest. Version: the time of the file."""

    name: ClassVar[str] = "csl"
    about: ClassVar[str] = "CSL-JSON: lists of items, as reference managers export them"

    def records(self, value: dict[str, Any], version: int) -> Iterable[SourceRecord]:
        """Return the state of an item. Raises BadRecord without DOI and id."""
        return (record(value, version),)


def record(value: dict[str, Any], version: int = 0) -> SourceRecord:
    """Return the state of an item. ``version``: of its file. Raises BadRecord without DOI and id."""
    own, found = value.get("id"), fields(value)
    ids: Ids = found["ids"]
    if ids.doi is None and type(own) not in (str, int):
        raise BadRecord("no DOI and no id")
    if found["title"] is None and not ids.keys():
        raise BadRecord("neither an identifier nor a title")
    name = ids.doi or values.key(str(own), value.get("title"), value.get("issued"))
    if found["type"] in UNCITED:
        return SourceRecord(name, version, None)
    return SourceRecord(name, version, Work.made({"id": work_id(ids, f"csl:{name}"), **found}))


def fields(value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `reflink.entities.Work` that an item states, without ``id``."""
    pages, number = value.get("page"), value.get("article-number") or value.get("number")
    ids = values.ids(value.get("DOI"), value.get("PMID"), value.get("PMCID"))
    title = values.text(value.get("title"))
    kind = work_type("csl", value.get("type"))
    names, groups = _authors(value.get("author"))
    if not names and kind in BOOKS:
        names, groups = _authors(value.get("editor"))
    first, last = first_and_last(values.short(pages) or "")
    venues = dict.fromkeys(each for field in _VENUES for each in values.texts(value.get(field)))
    venue = next(iter(venues), None)
    issn = value.get("ISSN")
    return {
        "ids": ids,
        "title": title,
        "translated_titles": tuple(each for each in values.texts(value.get("original-title")) if each != title),
        "authors": names,
        "collectives": groups,
        "venue": venue,
        "venue_abbreviations": tuple(venues)[1:],
        "issns": values.issns(issn[: values.MAX_SHORT].replace(",", " ").split() if type(issn) is str else issn),
        "year": _year(value.get("issued")),
        "volume": values.short(value.get("volume")),
        "issue": values.short(value.get("issue")),
        "fpage": first or values.short(value.get("page-first")) or values.short(number),
        "lpage": last,
        "type": kind,
        "language": values.language(value.get("language")),
    }  # fmt: skip


def _authors(people: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return last names and names of groups in order, and the groups. A literal name is that of a group."""
    names: list[str] = []
    groups: list[str] = []
    for person in values.mappings(people):
        name = values.short(person.get("family"))
        if name is not None and (particle := values.short(person.get("non-dropping-particle"))):
            name = f"{particle} {name}"
        elif name is None and (whole := values.short(person.get("literal"))):
            groups.append(whole)
            name = whole
        elif name is None and (given := values.short(person.get("given"))):
            name = divided(given)[0]
        if name:
            names.append(name)
    return tuple(names), tuple(groups)


def _year(date: Any) -> int | None:
    """Return the year of a date in parts, as text, or as number."""
    if type(date) is not dict:
        return values.year(date)
    parts = date.get("date-parts")
    while type(parts) is list and parts:
        parts = parts[0]
    return values.year(parts) or next(
        (year for key in ("year", "raw", "literal") if (year := values.year(date.get(key)))), None
    )
