"""The table of journals: whether two names mean one journal.

1. A name may belong to several journals, as different journals have had the name "Science". Two names mean one journal if they
   have a journal in common.
2. The table never shows that two names mean different journals: a spelling of one journal may be known as another's.
3. A table does not change. In a snapshot it is carried on from one to the next, so that all workers of an installation decide
   alike.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Self

from reflink.entities import Entity
from reflink.errors import UnusableSnapshot
from reflink.journals.names import MAX_NAME, issn_key, name_key, other_keys
from reflink.storage import durable, flatfiles
from reflink.storage.hashtable import WIDE_ARRAYS, HashTable, HashTableBuilder

_KIND: Final = "journals"
_LINES: Final = "journals.jsonl"
#: Number of cached comparisons.
_REMEMBERED: Final = 1 << 15


class Journal(Entity):
    """One journal: its names (titles, abbreviations, initialisms, former names) and its ISSNs."""

    names: tuple[str, ...]
    issns: tuple[str, ...] = ()

    def lookup_keys(self) -> tuple[str, ...]:
        """Return the distinct keys of the names, then of the ISSNs."""
        keys = (*map(name_key, self.names), *map(issn_key, self.issns))
        return tuple(dict.fromkeys(key for key in keys if key))


class Journals:
    """Journals by name and ISSN."""

    def __init__(self, names: HashTable, lines: bytes | mmap.mmap, size: int) -> None:
        """``names``: numbers of journals by key; ``lines``: the ``size`` journals as JSON lines."""
        self._names, self._lines, self._size = names, lines, size
        # The cache holds no reference to this object: without a cycle the last reference to it ends the mapping of its file.
        #: Cached lookups: few journals have most of the references.
        self._known = lru_cache(_REMEMBERED)(partial(_numbers, names))

    @classmethod
    def of(cls, journals: Iterable[Journal]) -> Self:
        """Return the table of these journals, in their order."""
        listed = list(journals)
        primary = [journal.lookup_keys() for journal in listed]
        taken = {key for keys in primary for key in keys}
        builder = HashTableBuilder(wide=True)
        for number, (journal, keys) in enumerate(zip(listed, primary, strict=True)):
            more = dict.fromkeys(key for name in journal.names for key in other_keys(name) if key not in taken)
            for key in (*keys, *more):
                builder.add(key, number)
        return cls(builder.build(), b"".join(journal.to_json() + b"\n" for journal in listed), len(listed))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the table in ``folder``. Raises UnusableSnapshot if it is damaged."""
        about, arrays = flatfiles.load(folder, _KIND, WIDE_ARRAYS)
        lines, size = flatfiles.map_bytes(folder / _LINES), about.get("journals", 0)
        if (found := lines[:].count(b"\n")) != size:
            raise UnusableSnapshot(f"{folder}: damaged: {_LINES} has {found} journals, not {size}")
        return cls(HashTable(**arrays), lines, size)

    def save(self, folder: Path) -> None:
        """Write the table to ``folder``, for `open`."""
        flatfiles.save(folder, _KIND, {"journals": len(self)}, self._names.arrays())
        self.write(folder / _LINES)

    def write(self, path: Path) -> None:
        """Write the journals as JSON lines, a list for `reflink.journals.lists`."""
        durable.write(path, self._lines[:])

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Journal]:
        yield from map(Journal.from_json, self._lines[:].splitlines())

    def numbers(self, *names: str) -> tuple[int, ...]:
        """Return the numbers of the journals with one of the names or ISSNs, ascending: positions in the table."""
        return tuple(sorted({number for name in names for number in self._known(name[:MAX_NAME])}))

    def are_one(self, name: str, venue: str | None, abbreviations: tuple[str, ...] = (), issns: tuple[str, ...] = ()) -> bool:
        """Return whether ``name`` means the journal of the other values.

        Names that are equal but for case, accents and articles mean one journal, whether or not the table has them.
        """
        others, key = (venue, *abbreviations) if venue else abbreviations, name_key(name)
        if not key:
            return False
        return any(key == name_key(other) for other in others) or not {*self.numbers(name)}.isdisjoint(
            self.numbers(*others, *issns)
        )


def _numbers(names: HashTable, name: str) -> tuple[int, ...]:
    found = names.candidates(issn_key(name) or name_key(name))
    for key in () if found else other_keys(name):
        found = found or names.candidates(key)
    return tuple(found)
