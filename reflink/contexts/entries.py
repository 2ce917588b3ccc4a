"""The entries of a bibliography as the text names them: by XML id, by number, and in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reflink.entities import Reference

#: A printed number: its letters ("S" of "S3") and its value.
Number = tuple[str, int]

_LABEL: Final = re.compile(r"[\[({<*•]{0,2}\s?([A-Za-z]{0,2})\s?(\d{1,5})\s?[\])}>.:*•\-–]{0,3}")
#: Numbers that may be years.
YEARS: Final = range(1500, 2100)
#: Maximum number of entries of a range.
MAX_RANGE: Final = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: the ids of its references, and its printed number. ``labelled``: it has a label, which may be no number."""

    references: tuple[str, ...]
    number: Number | None
    labelled: bool


class Entries:
    """All entries of a paper, in the order of the bibliography."""

    def __init__(self, references: Sequence[Reference]) -> None:
        works: dict[str, list[Reference]] = {}
        for reference in references:
            works.setdefault(reference.id.rpartition(".")[0], []).append(reference)
        self.all: list[Entry] = []
        #: None: several entries have the name or number.
        self._places: dict[str, int | None] = {}
        self._numbered: dict[Number, int | None] = {}
        for place, entry in enumerate(works.values()):
            label = entry[0].label or ""
            self.all.append(Entry(tuple(each.id for each in entry), _number(label), bool(label)))
            if name := entry[0].xml_id:
                self._places[name] = None if name in self._places else place
            if (number := self.number(place)) is not None:
                self._numbered[number] = None if number in self._numbered else place

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the distinct places, from 0, of the entries with these names in their file; without unknown names.

        A name of several entries, such as those of chapters that are one paper, is as an unknown one.
        """
        return tuple(dict.fromkeys(place for name in names if (place := self._places.get(name)) is not None))

    def numbered(self, number: Number, near: int, start: Number) -> int | None:
        """Return the place of the entry with a number, if the entry at ``near`` has the number ``start``; else None.

        Of entries with one number, in lists of their own, only that in the list of ``near`` counts.
        """
        if self.number(near) != start or number[0] != start[0]:
            return None
        place = near + number[1] - start[1]
        if 0 <= place < len(self.all) and self.number(place) == number:
            return place
        return self._numbered.get(number)

    def number(self, place: int) -> Number | None:
        """Return the printed number of an entry; without labels its place is its number."""
        entry = self.all[place]
        return entry.number if entry.labelled else ("", place + 1)

    def from_to(self, first: int, start: Number, stop: Number, last: int | None = None) -> range | None:
        """Return the places of the entries numbered from ``start`` to ``stop``, the first of which is at ``first``.

        ``last``: the place of the last one, if it is known. None if the printed numbers of the entries, or without any the
        number of entries, do not agree, and beyond MAX_RANGE.
        """
        if start[0] != stop[0] or not 0 < stop[1] - start[1] < MAX_RANGE:
            return None
        if not self.all[first].labelled:
            end = first + stop[1] - start[1]
            # Without labels the place is the number. Of a second list, the places of both ends show the distance.
            if first + 1 != start[1] and (last is None or start[1] in YEARS):
                return None
            if (last is not None and last != end) or end >= len(self.all) or stop[1] > len(self.all):
                return None
            return range(first, end + 1) if not any(entry.labelled for entry in self.all[first : end + 1]) else None
        before = start
        for place in range(first, min(first + MAX_RANGE, len(self.all))):
            number = self.all[place].number
            if number is None or number[0] != start[0] or not before[1] <= number[1] <= stop[1]:
                break
            if place == first and number != start:
                break
            if number == stop and last in (None, place):
                return range(first, place + 1)
            before = number
        return None


def _number(label: str) -> Number | None:
    """Return the number that a label is; else None."""
    found = _LABEL.fullmatch(label.strip())
    return (found[1].lower(), int(found[2])) if found else None
