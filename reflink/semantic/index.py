"""An exact cosine index that can change while it is searched."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from reflink.errors import BadVector, UnusableSnapshot
from reflink.hits import Hits
from reflink.semantic.cpu import scanning
from reflink.semantic.cpu.ranking import rank
from reflink.semantic.cpu.rows import BLOCK, GrowingRows, Single, View
from reflink.semantic.cpu.scanning import Found
from reflink.storage import flatfiles
from reflink.storage.idtable import IdTable, frozen

KIND: Final = "reflink vector index"
ARRAYS: Final[dict[str, tuple[Any, int]]] = {"ids": (np.uint8, 1), "id_offsets": (np.int64, 1), "vectors": (np.float16, 2)}

#: The values of a query are rounded to multiples of this.
GRAIN: Final = 2.0**-28

#: Spare capacity on a device, in rows.
SPARE: Final = 131_072


class VectorIndex:
    """Unit vectors by id, searched exactly by cosine. ``dim``: number of dimensions. ``threads``: threads of a search.

    Definition of a score: vectors are scaled to length 1 and stored as fp16. A query is scaled to length 1 and its values are
    rounded to multiples of 2**-28, which changes a cosine by less than 4e-8 in 384 dimensions. The score is the sum of the
    products in float64, rounded to float32. Every product and every partial sum is a multiple of 2**-52 below 2, so float64
    holds it exactly. Therefore a score does not depend on the order of the sum, the device, the other queries or the position
    of the row, and equal vectors tie exactly. Faster, inexact sums preselect the rows to score, with a margin above their
    greatest error.

    All methods are thread-safe. A search sees the state of one moment: all changes that returned before the search began, and
    each concurrent change either completely or not at all. Changes are serialised; no search waits for a change, and no change
    waits for a search. New rows fill spare capacity in place and never move; the place of a removed or replaced row is reused
    when no search that may see it is running.
    """

    def __init__(self, dim: int, *, threads: int = 1) -> None:
        if dim < 1:
            raise ValueError(f"dim is {dim}: at least 1 is needed")
        if threads < 1:
            raise ValueError(f"threads is {threads}: at least 1 is needed")
        self.dim: Final = dim
        self.threads = threads
        self._rows = GrowingRows(View.of(IdTable.build([])[0], np.empty((0, dim), np.float16)))

    def __len__(self) -> int:
        return self._rows.view.count

    def __contains__(self, id_: object) -> bool:
        if not isinstance(id_, str):
            return False
        with self._rows.lock:
            return bool(self._rows.find([id_])[0] >= 0)

    def add(self, ids: Sequence[str], vectors: npt.ArrayLike) -> None:
        """Add ``vectors`` [n, dim], or replace the vector of a known id. Of an id repeated in ``ids`` the last vector counts.

        Raises BadVector if a vector is not finite, all zero or of another length; ValueError if an id is empty or the numbers
        of ids and vectors differ; DeviceTooSmall if the device that holds the rows has no room for more. If it raises, nothing
        has changed.
        """
        array = np.asarray(vectors)
        lengths = self._lengths(array)
        if len(ids) != len(lengths):
            raise ValueError(f"{len(ids)} ids for {len(lengths)} vectors")
        if not all(ids):
            raise ValueError("an id is empty")
        if not len(ids):
            return
        last = {id_: position for position, id_ in enumerate(ids)}
        units = np.empty((len(last), self.dim), np.float16)
        positions = np.fromiter(last.values(), np.int64, len(last))
        for first in range(0, len(units), BLOCK):
            part = positions[first : first + BLOCK]
            units[first : first + BLOCK] = _units(array[part], lengths[part])
        self._rows.put(list(last), units)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove the vectors of these ids; unknown ids are ignored."""
        self._rows.drop(ids)

    def search(self, vectors: npt.ArrayLike, k: int) -> Hits:
        """Return the ``k`` nearest neighbours of each of ``vectors`` [n, dim]: Hits [n, k], scores are cosines in float32.

        Equal scores are ordered by ascending id. Raises ValueError if ``k`` is below 1; BadVector as ``add``.
        """
        if k < 1:
            raise ValueError(f"k is {k}: at least 1 is needed")
        array = np.asarray(vectors)
        queries = _rounded(_units(array.reshape(-1, self.dim), self._lengths(array)))
        return self._search(self._rows.view, queries, k)

    def _search(self, view: View, queries: Single, k: int) -> Hits:
        parts: list[Found] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
        parts += self._scan(view, queries, min(k, view.count)) if view.count and len(queries) else []
        found = tuple(np.concatenate([part[at] for part in parts]) for at in range(3))
        return rank(view, (found[0], found[1], found[2]), len(queries), k)

    def _scan(self, view: View, queries: Single, k: int) -> Iterator[Found]:
        if view.device is None:
            return scanning.scan(view, queries, k, self.threads, lambda: self._pool)
        from reflink.semantic.gpu import scan

        return scan.scan(view, queries, k)

    @cached_property
    def _pool(self) -> Executor:
        return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="search")

    def place(self, device: str | None, *, spare: int = SPARE, stream: bool = False) -> bool:
        """Run later searches on this torch device (``cuda``, ``cuda:1``, …) or, with None, on the CPU; the hits are identical.

        Copies the rows to the device, with capacity for ``spare`` more at a time; later changes are written there too. Raises
        DeviceTooSmall if the rows do not fit; with ``stream`` they stay in host memory instead and are sent for every search.
        Returns whether the rows are on the device. Changes wait until it returns.
        """
        with self._rows.lock:
            if device is None:
                self._rows.attach(None)
                return False
            from reflink.semantic.gpu.rows import DeviceRows

            rows = DeviceRows(self._rows.view, device, spare, stream=stream)
            self._rows.attach(rows)
            return rows.resident

    def vectors(self, ids: Sequence[str]) -> Single:
        """Return the stored unit vectors of these ids, float32 [n, dim]; a row of NaN for an unknown id."""
        vectors = np.full((len(ids), self.dim), np.nan, np.float32)
        with self._rows.lock:
            view, rows = self._rows.view, self._rows.find(ids)
        vectors[rows >= 0] = view.gather(rows[rows >= 0])
        return vectors

    def _lengths(self, vectors: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        if vectors.ndim != 2 or vectors.shape[1] != self.dim:
            if vectors.size == 0:
                return np.empty(0, np.float64)
            raise BadVector(f"vectors of shape {vectors.shape}: [n, {self.dim}] is needed")
        lengths = np.empty(len(vectors), np.float64)
        for first in range(0, len(vectors), BLOCK):  # bounds the memory of the float64 copies
            part = vectors[first : first + BLOCK].astype(np.float64)
            lengths[first : first + BLOCK] = np.sqrt(np.einsum("ij,ij->i", part, part))
        bad = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
        if len(bad):
            raise BadVector(f"vector {bad[0]} of {len(lengths)} has no direction: all zero, NaN or infinite")
        return lengths

    def save(self, folder: str | Path) -> None:
        """Write the index to ``folder``, rows in order of their ids; create the folder or replace the index in it.

        Saves the state at the time of the call; changes and searches continue meanwhile.
        """
        view = self._rows.view
        alive = view.alive()
        base = len(view.ids)
        added = np.flatnonzero(alive[base:]) + base
        table, positions = IdTable.build(view.names(added).tolist())
        merged = view.ids.merge(frozen(alive[:base]), table, frozen(np.ones(len(table), np.bool_)))
        source = np.empty(len(merged.table), np.int64)
        source[merged.first[alive[:base]]] = np.flatnonzero(alive[:base])
        source[merged.second] = added[positions]
        blocks = (view.gather(source[first : first + BLOCK]) for first in range(0, len(source), BLOCK))
        arrays = (
            merged.table.blob,
            merged.table.offsets,
            flatfiles.Blocks(blocks, (len(source), self.dim), np.float16),
        )
        flatfiles.save(Path(folder), KIND, {"dim": self.dim}, dict(zip(ARRAYS, arrays, strict=True)))

    @classmethod
    def open(cls, folder: str | Path, *, verify: bool = False, threads: int = 1) -> Self:
        """Open a saved index by memory map. Processes share its pages; later additions stay in memory.

        ``verify``: compare every byte with its checksum. Raises UnusableSnapshot if the folder is damaged, unfinished or not a
        vector index.
        """
        about, arrays = flatfiles.load(Path(folder), KIND, ARRAYS, verify=verify)
        blob, offsets, vectors = (arrays[name] for name in ARRAYS)
        fit = (
            vectors.shape == (len(offsets) - 1, about.get("dim"))
            and offsets[0] == 0
            and offsets[-1] == len(blob)
            and bool((offsets[1:] > offsets[:-1]).all())
        )
        if not fit:
            raise UnusableSnapshot(f"{folder}: its arrays are inconsistent; copy it again or save it again")
        index = cls(vectors.shape[1], threads=threads)
        index._rows = GrowingRows(View.of(IdTable(frozen(blob), frozen(offsets)), vectors))
        return index


def _units(vectors: npt.NDArray[Any], lengths: npt.NDArray[np.float64]) -> Single:
    return (vectors / lengths[:, None]).astype(np.float32)


def _rounded(units: Single) -> Single:
    """Round to multiples of ``GRAIN``, exactly in float32: only values too small for a full significand change."""
    rounded: Single = np.rint(units * np.float32(1 / GRAIN)) * np.float32(GRAIN)
    return rounded
