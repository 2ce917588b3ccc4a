"""The table of journals: whether two names mean one journal.

1. A name may belong to several journals, as different journals have had the name "Science". Two names mean one journal if they
   have a journal in common, and different journals if both are known, have none in common, and their journals are not related.
2. A section and its journal are related, and so are a journal and its former name: one may be cited for the other.
3. A table does not change. In a snapshot it is carried on from one to the next, so that all workers of an installation decide
   alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from reflink.entities import Entity
from reflink.errors import BadRecord, UnusableSnapshot
from reflink.journals.names import issn_key, name_key, other_keys, parent_keys
from reflink.storage import durable, flatfiles
from reflink.storage.hashtable import ARRAYS, HashTable, HashTableBuilder

_KIND: Final = "journals"
_LINES: Final = "journals.jsonl"
_ARRAYS: Final = {**ARRAYS, "related": (np.uint32, 2)}
#: Number of cached comparisons.
_REMEMBERED: Final = 1 << 15


class Journal(Entity):
    """One journal: its names (titles, abbreviations, initialisms), its ISSNs, and names of journals that it continues."""

    names: tuple[str, ...]
    issns: tuple[str, ...] = ()
    former: tuple[str, ...] = ()


class Journals:
    """Journals by name and ISSN. The default is a table without journals."""

    def __init__(
        self, names: HashTable, related: NDArray[np.uint32], lines: Sequence[bytes] | Path = (), size: int | None = None
    ) -> None:
        """``names``: numbers of journals by key; ``related`` [n, 2]: pairs of numbers; ``lines``: the journals as JSON.

        ``size``: number of journals, where ``lines`` is a file.
        """
        self._names, self._related, self._lines = names, related, lines
        self._size = size if isinstance(lines, Path) and size is not None else len(list(self._iter_lines()))
        self._pairs = {(low, high) for low, high in related.tolist()}
        #: Cached comparisons: few journals have most of the references.
        self.compare = lru_cache(_REMEMBERED)(self._compare)
        self._known = lru_cache(_REMEMBERED)(self._numbers)

    @classmethod
    def of(cls, journals: Iterable[Journal]) -> Self:
        """Return the table of these journals, in their order."""
        listed = list(journals)
        primary = [_keys(journal) for journal in listed]
        taken = {key for keys in primary for key in keys}
        builder, numbers = HashTableBuilder(), dict[str, list[int]]()
        for number, (journal, keys) in enumerate(zip(listed, primary, strict=True)):
            more = dict.fromkeys(key for name in journal.names for key in other_keys(name) if key not in taken)
            for key in (*keys, *more):
                builder.add(key, number)
                numbers.setdefault(key, []).append(number)
        related = set()
        for number, journal in enumerate(listed):
            parents = [key for name in journal.names for key in parent_keys(name)]
            for key in (*parents, *map(name_key, journal.former)):
                related |= {(min(number, other), max(number, other)) for other in numbers.get(key, ()) if other != number}
        pairs = np.array(sorted(related), np.uint32).reshape(-1, 2)
        return cls(builder.build(), pairs, [journal.to_json() for journal in listed])

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the table in ``folder``. Raises UnusableSnapshot if it is damaged."""
        about, arrays = flatfiles.load(folder, _KIND, _ARRAYS)
        if not (folder / _LINES).exists():
            raise UnusableSnapshot(f"{folder}: damaged: {_LINES} is missing")
        return cls(HashTable(arrays["hashes"], arrays["rows"]), arrays["related"], folder / _LINES, about.get("journals"))

    def save(self, folder: Path) -> None:
        """Write the table to ``folder``, for `open`."""
        flatfiles.save(folder, _KIND, {"journals": len(self)}, {**self._names.arrays(), "related": self._related})
        self.write(folder / _LINES)

    def write(self, path: Path) -> None:
        """Write the journals as JSON lines, a list for `reflink.journals.lists`."""
        durable.write(path, b"".join(line + b"\n" for line in self._iter_lines()))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Journal]:
        yield from map(Journal.from_json, self._iter_lines())

    def numbers(self, *names: str) -> tuple[int, ...]:
        """Return the numbers of the journals with one of the names or ISSNs, ascending: positions in the table."""
        return tuple(sorted({number for name in names for number in self._known(name)}))

    def related(self, number: int) -> tuple[int, ...]:
        """Return the numbers of the journals that are related to a journal, ascending."""
        pairs = [pair for pair in self._pairs if number in pair]
        return tuple(sorted(low if high == number else high for low, high in pairs))

    def _compare(self, name: str, venue: str | None, abbreviations: tuple[str, ...] = (), issns: tuple[str, ...] = ()) -> float:
        """Return whether ``name`` means the journal of the other values: 1 yes, 0 no, NaN if the table does not decide it.

        Names that are equal but for case, accents and articles mean one journal, whether or not the table has them.
        """
        others = (venue, *abbreviations) if venue else abbreviations
        key = name_key(name)
        if not key or not (others or issns):
            return math.nan
        if any(key == name_key(other) for other in others):
            return 1.0
        mine, theirs = self._known(name), self.numbers(*others, *issns)
        if not mine or not theirs:
            return math.nan
        if not {*mine}.isdisjoint(theirs):
            return 1.0
        if any((min(pair), max(pair)) in self._pairs for pair in product(mine, theirs)):
            return math.nan
        return 0.0

    def _numbers(self, name: str) -> tuple[int, ...]:
        found = self._names.candidates(issn_key(name) or name_key(name))
        for key in () if found else other_keys(name):
            found = found or self._names.candidates(key)
        return tuple(found)

    def _iter_lines(self) -> Iterator[bytes]:
        if not isinstance(self._lines, Path):
            yield from self._lines
            return
        with self._lines.open("rb") as file:
            yield from (line.rstrip(b"\n") for line in file)


def read_journals(path: Path) -> Iterator[Journal]:
    """Yield the journals of a file of JSON lines. Raises BadRecord, naming the line, and OSError."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.isspace():
                continue
            try:
                yield Journal.from_dict(_object(line))
            except BadRecord as error:
                raise BadRecord(f"{path}:{number}: {error}") from None


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadRecord(f"not JSON: {error.msg}") from None
    if not isinstance(value, dict):
        raise BadRecord("not a JSON object")
    return value


def _keys(journal: Journal) -> dict[str, None]:
    keys = (*map(name_key, journal.names), *map(issn_key, journal.issns))
    return dict.fromkeys(key for key in keys if key)
