"""Write the works of a catalog in bounded memory: records, tables of identifiers and locators, canonical rows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from reflink.blocking.locators import work_places
from reflink.catalog.components import components
from reflink.catalog.mapped import LINES, MappedWorks, keys_of
from reflink.catalog.works import Works
from reflink.entities import Work
from reflink.storage.compressed_lines import CompressedLines, LinesWriter
from reflink.storage.hashtable import HashTable, HashTableBuilder
from reflink.storage.spilling import WAITING


class WorksWriter:
    """Write a folder for ``MappedWorks`` work by work.

    Needs about 4 bytes of memory per work, about 50 bytes per work that shares an identifier with another, and 18 bytes of
    temporary files in the folder per key. A context manager: the folder is complete after an exit without an exception. Of
    works with the same id the last counts.
    """

    def __init__(self, folder: Path, *, waiting: int = WAITING) -> None:
        """``waiting``: keys in memory before they are written to a temporary file."""
        self._folder = folder
        self._lines = LinesWriter(folder / LINES)
        self._keys = HashTableBuilder(folder=folder, waiting=waiting)
        self._places = HashTableBuilder(wide=True, folder=folder, waiting=waiting)  # wide: works are counted unread

    def append(self, work: Work) -> None:
        """Append a work as the next row. Raises OSError."""
        row = len(self._lines)
        self._lines.append(work.to_json())
        for key in keys_of(work):
            self._keys.add(key, row)
        for key in work_places(work):
            self._places.add(key, row)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._finish()
        else:
            self._lines.close()

    def _finish(self) -> None:
        lines, keys, without = self._lines.finish(), self._keys.build(), None
        superseded, edges = _shared(lines, keys)
        if len(superseded):
            without = superseded
            lines, keys = self._without(lines, superseded), self._keys.build(without)
            _, edges = _shared(lines, keys)
        canonicals = _canonicals(lines, edges)
        MappedWorks(lines, keys, self._places.build(without), canonicals).save_tables(self._folder)

    def _without(self, lines: CompressedLines, rows: NDArray[np.uint32]) -> CompressedLines:
        """Write the lines again without these rows, ascending."""
        again = LinesWriter(self._folder / LINES)  # the removed file stays mapped
        for before, row in pairwise((-1, *rows.tolist(), len(lines))):
            for kept in range(before + 1, row):
                again.append(lines[kept])
        return again.finish()


@contextmanager
def writing(works: Works, folder: Path) -> Iterator[Callable[[Work], object]]:
    """Yield a function that appends a work; to be called with each of ``works`` in order. On exit the folder holds them.

    If the works are an unchanged base, its files are copied instead. Raises OSError.
    """
    if (base := works.unchanged) is not None:
        base.save(folder)
        yield lambda _: None
    else:
        with WorksWriter(folder) as writer:
            yield writer.append


def _shared(lines: CompressedLines, keys: HashTable) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the rows whose id a later row has too, ascending, and pairs of rows that share a key, uint32 [n, 2]."""
    superseded, edges = array("I"), array("I")
    for rows in keys.shared():
        latest: dict[str, int] = {}
        bearer: dict[str, int] = {}
        for row in rows:
            work = Work.from_json(lines[row])
            if work.id in latest:
                superseded.append(latest[work.id])
            latest[work.id] = row
            for key in keys_of(work):
                if (other := bearer.setdefault(key, row)) != row:
                    edges.extend((other, row))
    return np.unique(np.array(superseded, np.uint32)), np.array(edges, np.uint32).reshape(-1, 2)


def _canonicals(lines: CompressedLines, edges: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return uint32 [2, k]: the rows, ascending, that do not have the smallest id of their component, and the rows that do."""
    others, smallest = array("I"), array("I")
    for members in components(edges):
        least = min(members, key=lambda row: Work.from_json(lines[row]).id)
        rest = [row for row in members if row != least]
        others.extend(rest)
        smallest.extend([least] * len(rest))
    found = np.array([others, smallest], np.uint32)
    return np.ascontiguousarray(found[:, np.argsort(found[0])])
