"""The base of a catalog: a mapped file of works as JSON lines, with access by row, id, identifier and locator.

Opening reads no work and creates no Python object per work. Processes that map the same folder share its pages.
"""

from __future__ import annotations

import mmap
from array import array
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

from reflink.blocking.locators import work_places
from reflink.catalog.components import union
from reflink.entities import ID_KINDS, Work
from reflink.errors import UnusableSnapshot
from reflink.storage import flatfiles
from reflink.storage.hashtable import ARRAYS, HashTable, HashTableBuilder

_LINES: Final = "works.jsonl"
_KIND: Final = "works"
#: The arrays of every folder, and the additional arrays of a folder with a table of locators.
_ARRAYS: Final = {"offsets": (np.int64, 1), "canonical": (np.uint32, 1), **ARRAYS}
_PLACES: Final = {f"place_{name}": kind for name, kind in ARRAYS.items()}
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

    ``canonical``: uint32 [n], the row of the smallest id among the works that share identifiers with the row's work, directly
    or through other works; the row itself if there are none. ``places``: rows by ``work_places``; None in older folders, which
    lack this table.
    """

    def __init__(self, lines: mmap.mmap | bytes, offsets: NDArray[np.int64], keys: HashTable) -> None:
        self._offsets, self.keys = offsets, keys

        def line(row: int) -> bytes:
            return lines[int(offsets[row]) : int(offsets[row + 1]) - 1]

        def work(row: int) -> Work:
            return Work.from_json(line(row))

        def find(work_id: str) -> int | None:
            # Lines begin with the id, so comparing their beginning avoids parsing them.
            start = to_json({"id": work_id})[:-1]
            return next((row for row in keys.candidates(work_id) if line(row).startswith(start)), None)

        # The caches hold no reference to this object: without a cycle the last reference to it ends the mapping of its files.
        #: The JSON of a row without the line feed.
        self.line = line
        #: Cached lookups of the work of a row, and of the row of an id or None: a work is often looked up again.
        self.work = lru_cache(_REMEMBERED)(work)
        self.find = lru_cache(_REMEMBERED)(find)
        self.canonical: NDArray[np.uint32] = np.empty(0, np.uint32)
        self.places: HashTable | None = None

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the folder. Raises UnusableSnapshot if a file is missing or inconsistent with the others."""
        about, arrays = flatfiles.load(folder, _KIND, _ARRAYS)
        offsets, lines = arrays["offsets"], flatfiles.map_bytes(folder / _LINES)
        if not len(offsets) or offsets[-1] != len(lines) or len(arrays["canonical"]) != len(offsets) - 1:
            raise UnusableSnapshot(f"{folder}: damaged: {_LINES} has {len(lines)} bytes, which its offsets do not fit")
        works = cls(lines, offsets, HashTable(arrays["hashes"], arrays["rows"]))
        works.canonical = arrays["canonical"]
        if about.get("places"):
            _, arrays = flatfiles.load(folder, _KIND, _PLACES)
            works.places = HashTable(arrays["place_hashes"], arrays["place_rows"])
        return works

    def bearers(self, key: str) -> dict[int, Work]:
        """Return the works, by row, that have ``key`` as id or identifier."""
        return {row: work for row in self.keys.candidates(key) if _bears(work := self.work(row), key)}

    def component(self, row: int) -> set[int]:
        """Return all rows connected to ``row`` by shared identifiers, including ``row``."""
        found, waiting = {row}, [row]
        while waiting:
            for key in keys_of(self.work(waiting.pop())):
                waiting += (new := self.bearers(key).keys() - found)
                found |= new
        return found


class WorksWriter:
    """Write a folder for ``MappedWorks`` work by work; needs 12 bytes of memory per key and 8 per work.

    A context manager: the folder is complete after an exit without an exception. Of works with the same id the last counts.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        (folder / _LINES).unlink(missing_ok=True)  # never overwritten, since it may be mapped
        self._file = (folder / _LINES).open("wb")
        self._offsets = array("q", [0])
        self._keys, self._places = HashTableBuilder(), HashTableBuilder()

    def append(self, work: Work) -> None:
        """Append a work as the next row."""
        line = work.to_json()
        self._file.write(line + b"\n")
        row = len(self._offsets) - 1
        self._offsets.append(self._offsets[-1] + len(line) + 1)
        for key in keys_of(work):
            self._keys.add(key, row)
        for key in work_places(work):
            self._places.add(key, row)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        if kind is None:
            self._finish()

    def _finish(self) -> None:
        keys, offsets = self._keys.build(), np.array(self._offsets, dtype=np.int64)
        works = MappedWorks(flatfiles.map_bytes(self._folder / _LINES), offsets, keys)
        groups = keys.shared()
        if superseded := _superseded(works, groups):
            with WorksWriter(self._folder) as again:
                for row in range(len(works)):
                    if row not in superseded:
                        again.append(works.work(row))
            return
        canonical = _canonical_rows(works, groups)
        places = {f"place_{name}": array for name, array in self._places.build().arrays().items()}
        arrays: dict[str, NDArray[Any]] = {"offsets": offsets, "canonical": canonical, **keys.arrays(), **places}
        flatfiles.save(self._folder, _KIND, {"places": True}, arrays)


def _superseded(works: MappedWorks, groups: list[list[int]]) -> set[int]:
    """The rows whose id a later row has too."""
    found: set[int] = set()
    for rows in groups:
        latest: dict[str, int] = {}
        for row in rows:
            work_id = works.work(row).id
            if work_id in latest:
                found.add(latest[work_id])
            latest[work_id] = row
    return found


def _canonical_rows(works: MappedWorks, groups: list[list[int]]) -> NDArray[np.uint32]:
    canonical = np.arange(len(works), dtype=np.uint32)
    bearers: dict[str, list[int]] = {}
    for row in sorted({row for rows in groups for row in rows}):
        for key in keys_of(works.work(row)):
            bearers.setdefault(key, []).append(row)
    for members in union(bearers.values()):
        canonical[members] = min(members, key=lambda row: works.work(row).id)
    return canonical
