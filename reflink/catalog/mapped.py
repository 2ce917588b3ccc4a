"""The base of a catalog: mapped works as compressed JSON lines, with access by row, id, identifier and locator.

Opening reads no work and creates no Python object per work. Processes that map the same folder share its pages.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

from reflink.entities import ID_KINDS, Work
from reflink.errors import UnusableSnapshot
from reflink.storage import compressed_lines, durable, flatfiles
from reflink.storage.compressed_lines import CompressedLines
from reflink.storage.hashtable import ARRAYS, WIDE_ARRAYS, HashTable

#: The file of the works in a folder.
LINES: Final = "works.jsonl.zst"
_KIND: Final = "works"
_PLACE: Final = "place_"
_ARRAYS: Final = {
    **compressed_lines.ARRAYS,
    "canonical": (np.uint32, 2),
    **ARRAYS,
    **{f"{_PLACE}{name}": kind for name, kind in WIDE_ARRAYS.items()},
}
#: Number of cached works, about 2 KB each.
_REMEMBERED: Final = 2048


def keys_of(work: Work) -> tuple[str, ...]:
    """Return the distinct keys by which works are identified with each other: the id and ``kind:value`` of each identifier."""
    return tuple(dict.fromkeys((work.id, *work.ids.keys())))


def _bears(work: Work, key: str) -> bool:
    if work.id == key:
        return True
    kind, _, value = key.partition(":")
    return kind in ID_KINDS and getattr(work.ids, kind) == value != ""


class MappedWorks:
    """Rows 0…n-1 of a folder written by ``WorksWriter``.

    ``keys``: rows by ``keys_of``; ``places``: rows by ``work_places``. ``canonicals``: uint32 [2, k], ascending rows and, for
    each, the row of the smallest id among the works that share identifiers with its work, directly or through other works.
    Rows that are not listed have the smallest id themselves.
    """

    def __init__(self, lines: CompressedLines, keys: HashTable, places: HashTable, canonicals: NDArray[np.uint32]) -> None:
        self._lines, self.keys, self.places, self._canonicals = lines, keys, places, canonicals
        self._others, self._smallest = canonicals[0].data, canonicals[1].data

        #: Rows of works that were read lately, by id: a work is usually looked up by its id next.
        self._row_of = row_of = dict[str, int]()

        def work(row: int) -> Work:
            found = Work.from_json(lines[row])
            if len(row_of) >= _REMEMBERED:
                row_of.clear()
            row_of[found.id] = row
            return found

        def find(work_id: str) -> int | None:
            if (row := row_of.get(work_id)) is not None:
                return row
            # Lines begin with the id, so comparing their beginning avoids parsing them.
            start = to_json({"id": work_id})[:-1]
            return next((row for row in keys.candidates(work_id) if lines[row].startswith(start)), None)

        cached_work = lru_cache(_REMEMBERED)(work)

        def bearers(key: str) -> dict[int, Work]:
            return {row: work for row in keys.candidates(key) if _bears(work := cached_work(row), key)}

        # The caches hold no reference to this object: without a cycle the last reference to it ends the mapping of its files.
        #: Cached lookups of the work of a row, and of the row of an id or None: a work is often looked up again.
        self.work = cached_work
        self.find = lru_cache(_REMEMBERED)(find)
        #: Cached lookup of the works, by row, that have a key as id or identifier. The result must not be changed.
        self.bearers = lru_cache(_REMEMBERED)(bearers)

    def __len__(self) -> int:
        return len(self._lines)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the folder. Raises UnusableSnapshot if a file is missing or inconsistent with the others."""
        about, arrays = flatfiles.load(folder, _KIND, _ARRAYS)
        if len(arrays["canonical"]) != 2:
            raise UnusableSnapshot(f"{folder}: damaged: its canonical rows are not pairs: copy it again or build it again")
        lines = CompressedLines.open(folder / LINES, arrays, about.get("works", 0))
        keys, places = (HashTable(*(arrays[f"{prefix}{name}"] for name in ARRAYS)) for prefix in ("", _PLACE))
        return cls(lines, keys, places, arrays["canonical"])

    def save(self, folder: Path) -> None:
        """Write the same works to another folder. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        with durable.replacing(folder / LINES) as file:
            file.write(self._lines.data)
        self.save_tables(folder)

    def save_tables(self, folder: Path) -> None:
        """Write all but the file of lines. Raises OSError."""
        places = {f"{_PLACE}{name}": array for name, array in self.places.arrays().items()}
        arrays = {**self._lines.arrays(), **self.keys.arrays(), **places, "canonical": self._canonicals}
        flatfiles.save(folder, _KIND, {"works": len(self)}, arrays)

    def line(self, row: int) -> bytes:
        """Return the JSON of a row without a line feed."""
        return self._lines[row]

    def canonical(self, row: int) -> int:
        """Return the row of the smallest id among the works of the component of ``row``."""
        at = bisect_left(self._others, row)
        return self._smallest[at] if at < len(self._others) and self._others[at] == row else row

    def forget(self) -> None:
        """Empty all caches, for measurements."""
        self.work.cache_clear()
        self.find.cache_clear()
        self.bearers.cache_clear()
        self._row_of.clear()
        self._lines.forget()

    def component(self, row: int) -> set[int]:
        """Return all rows connected to ``row`` by shared identifiers, including ``row``."""
        found, waiting = {row}, [row]
        while waiting:
            for key in keys_of(self.work(waiting.pop())):
                waiting += (new := self.bearers(key).keys() - found)
                found |= new
        return found
