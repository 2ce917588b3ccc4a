"""The real works, arranged for the recipes of added works: by venue, by field, with their years, volumes and pages.

A field is a set of venues: a venue of at least ``OWN`` works alone, smaller ones with the others of the same frequent stem of a
word ("Plant Biol", "Plant Ecol Divers"). The recipes draw titles and authors from one field, and place and time from one venue.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from random import Random
from typing import Any, Final, NamedTuple

from reflink.blocking.locators import BY_YEAR, number, work_places
from reflink.entities import Work
from reflink.folding import fold

#: Minimum works of a venue that is a field of its own.
OWN: Final = 100
#: Characters of the stem of a word of a venue's name.
_STEM: Final = 4
#: Stems of words that say nothing about the field.
_GENERAL: Final = frozenset(
    "jour inte rese scie proc revi anna arch bull acta lett repo lond engl euro amer brit advan".split()
)
_PAGE: Final = re.compile(r"([A-Za-z]*)([0-9]{1,8})([A-Za-z]*)")
#: Pages between the first and the last of a venue with few works, and highest page that is one of an issue.
_SPREAD: Final = 400
_HIGHEST: Final = 99_999


class Real(NamedTuple):
    """A real work, as far as the recipes need it. ``key``: folded name of its venue, empty without one."""

    id: str
    title: str
    authors: tuple[str, ...]
    venue: str | None
    year: int | None
    volume: str | None
    fpage: str | None
    key: str


class Venue(NamedTuple):
    """A venue: its works by row, those that have a year, and its lowest and highest page."""

    rows: list[int]
    dated: list[int]
    low: int
    high: int


class Pool:
    """All real works with a title and an author.

    ``size``: the number of real works, also without title or author. ``titles``: folded, and ``taken``: the locator keys with
    the year, both of all real works. ``fields``: rows of the works of each field. ``field_of``: the field of each venue.
    """

    def __init__(self, works: Iterable[Work]) -> None:
        self.works: list[Real] = []
        self.titles: set[str] = set()
        self.taken: set[str] = set()
        self.size = 0
        for work in works:
            self.size += 1
            self.titles.add(fold(work.title or ""))
            self.taken.update(place for place in work_places(work) if place.startswith(BY_YEAR))
            if work.title and work.authors:
                key = fold(work.venue or "")
                self.works.append(Real(work.id, work.title, work.authors, work.venue, work.year, work.volume, work.fpage, key))
        rows: dict[str, list[int]] = defaultdict(list)
        for row, each in enumerate(self.works):
            rows[each.key].append(row)
        self.venues = {key: self._venue(found) for key, found in rows.items()}
        self.field_of = _fields({key: len(found) for key, found in rows.items()})
        fields: dict[str, list[int]] = defaultdict(list)
        for key, found in rows.items():
            fields[self.field_of[key]] += found
        self.fields = dict(fields)

    def _venue(self, rows: list[int]) -> Venue:
        pages = [int(page) for row in rows if (page := self.works[row].fpage) and page.isascii() and page.isdigit()]
        pages = [page for page in pages if page <= _HIGHEST] or [1]
        low, high = min(pages), max(pages)
        if high - low < _SPREAD:
            low, high = max(1, low - _SPREAD // 2), high + _SPREAD // 2
        return Venue(rows, [row for row in rows if self.works[row].year is not None], low, high)

    def any(self, random: Random) -> Real:
        """Return any work."""
        return self.works[int(random.random() * len(self.works))]

    def of_field(self, random: Random, key: str) -> Real:
        """Return any work of the field of a venue."""
        rows = self.fields[self.field_of[key]]
        return self.works[rows[int(random.random() * len(rows))]]

    def of_venue(self, random: Random, key: str) -> Real:
        """Return any work of a venue, with a year if one has it."""
        venue = self.venues[key]
        rows = venue.dated or venue.rows
        return self.works[rows[int(random.random() * len(rows))]]

    def place(self, random: Random, record: dict[str, Any], key: str, like: str | None) -> None:
        """Give a record of a venue a first page like the given one, such that no real work has its locator."""
        if like is None:
            return
        venue = self.venues[key]
        found = _PAGE.fullmatch(like)
        before, digits, after = found.groups() if found else ("", "", "")
        if digits and (before or after or int(digits) > _HIGHEST):  # an article number, or a page of a supplement
            low, high = max(1, int(digits) // 2), 2 * int(digits) + 20
        else:
            low, high = venue.low, venue.high
        self.free(record, low + int(random.random() * (high - low + 1)), before, after)

    def free(self, record: dict[str, Any], page: int, before: str = "", after: str = "") -> None:
        """Give a record this first page, or the next one at which no real work has the record's locator."""
        volume, year = record.get("volume"), record.get("year")
        if volume is not None and year is not None:
            place = f"{BY_YEAR}{year}:{number(volume)}:"
            while f"{place}{page}" in self.taken:
                page += 1
        record["fpage"] = f"{before}{page}{after}"


def later(volume: str | None, years: int) -> str | None:
    """Return the volume of some years later; the same one if it is not a number."""
    if volume is None or not (volume.isascii() and volume.isdigit()):
        return volume
    return str(max(1, int(volume) + years))


def _fields(sizes: dict[str, int]) -> dict[str, str]:
    """Return the field of each venue. ``sizes``: the number of works by venue."""
    stems: Counter[str] = Counter()
    of = {key: {word[:_STEM] for word in key.split() if len(word) >= _STEM} - _GENERAL for key in sizes}
    for key, found in of.items():
        if sizes[key] < OWN:
            for stem in found:
                stems[stem] += sizes[key]
    fields = {}
    for key, found in of.items():
        stem = max(found, key=lambda each: (stems[each], each), default="")
        fields[key] = key if sizes[key] >= OWN else f"{stem}*" if stems[stem] >= OWN else "*"
    return fields
