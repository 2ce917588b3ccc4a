"""An exact cosine index that grows while it is searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from reflink import flatfiles
from reflink.errors import BadVector, UnusableSnapshot
from reflink.hits import Hits
from reflink.idtable import IdTable, frozen
from reflink.semantic import kernels

KIND: Final = "reflink vector index"
ARRAYS: Final[dict[str, tuple[Any, int]]] = {"ids": (np.uint8, 1), "id_offsets": (np.int64, 1), "vectors": (np.float16, 2)}

#: Rows scored at a time, and rows added at a time: 12 MB of 384 dimensions.
BLOCK: Final = 16_384

#: Queries whose scores of one block are held at once.
QUERIES: Final = 256

Half = npt.NDArray[np.float16]
Single = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(eq=False)
class _Saved:
    """The part opened from a folder: mapped, in order of its ids, only ever losing rows."""

    ids: IdTable
    vectors: Half
    alive: Mask
    count: int

    @classmethod
    def of(cls, ids: IdTable, vectors: Half) -> Self:
        return cls(ids, frozen(vectors), np.ones(len(ids), np.bool_), len(ids))


class VectorIndex:
    """Unit vectors by id, searched by cosine; exact. ``dim``: their length.

    Vectors are scaled to length 1 and kept as fp16. A score is the sum of fp16 row × float32 query in float64, rounded to
    float32: it depends neither on the other queries of a search nor on where the row lies, so equal vectors tie exactly.
    The rows to be scored so are found by float32 accumulation over all rows, keeping a margin above its greatest error.

    Additions and removals are seen by the next search. Searches may run in several threads at once, changes need
    the index for themselves. New rows fill blocks of spare capacity in place and never move; places of removed rows are reused.
    """

    def __init__(self, dim: int) -> None:
        if dim < 1:
            raise ValueError(f"dim is {dim}: at least 1 is needed")
        self.dim: Final = dim
        self._saved = _Saved.of(IdTable.build([])[0], np.empty((0, dim), np.float16))
        self._blocks: list[Half] = []  # the rows that were added, BLOCK in each
        self._alive: list[Mask] = []
        self._ids: list[str | None] = []
        self._row: dict[str, int] = {}
        self._free: list[int] = []
        # The greatest error of float32 accumulation in any order, twice (two rows are compared), for lengths near 1.
        self._margin = 2.0 * (dim + 2) * 2.0**-24 * 1.01

    def __len__(self) -> int:
        return self._saved.count + len(self._row)

    def __contains__(self, id_: object) -> bool:
        if not isinstance(id_, str):
            return False
        if id_ in self._row:
            return True
        row = int(self._saved.ids.find([id_])[0])
        return row >= 0 and bool(self._saved.alive[row])

    def add(self, ids: Sequence[str], vectors: npt.ArrayLike) -> None:
        """Adds ``vectors`` [n, dim]; the vector of a known id is replaced, the last of one id in ``ids`` counts.

        Raises BadVector, and changes nothing, when a vector is not finite, all zero or of another length; ValueError when an id
        is empty or the numbers of ids and vectors differ.
        """
        array = np.asarray(vectors)
        lengths = self._lengths(array)
        if len(ids) != len(lengths):
            raise ValueError(f"{len(ids)} ids for {len(lengths)} vectors")
        if not all(ids):
            raise ValueError("an id is empty")
        self._bury(ids)
        rows = np.fromiter(map(self._place, ids), np.int64, len(ids))
        for first in range(0, len(rows), BLOCK):
            part = slice(first, first + BLOCK)
            units = _units(array[part], lengths[part]).astype(np.float16)
            for number in np.unique(rows[part] // BLOCK).tolist():
                here = rows[part] // BLOCK == number
                # Where one row comes twice numpy keeps the last, as said.
                self._blocks[number][rows[part][here] % BLOCK] = units[here]

    def remove(self, ids: Sequence[str]) -> None:
        """Removes the vectors of these ids; unknown ids are passed over."""
        self._bury(ids)
        for id_ in ids:
            row = self._row.pop(id_, None)
            if row is not None:
                self._alive[row // BLOCK][row % BLOCK] = False
                self._ids[row] = None
                self._free.append(row)

    def search(self, vectors: npt.ArrayLike, k: int) -> Hits:
        """The ``k`` nearest of each of ``vectors`` [n, dim]: Hits [n, k], scores cosines in float32, ties by the smallest id.

        Raises ValueError when ``k`` is below 1; BadVector as in ``add``.
        """
        if k < 1:
            raise ValueError(f"k is {k}: at least 1 is needed")
        array = np.asarray(vectors)
        units = _units(array.reshape(-1, self.dim), self._lengths(array))
        chunks = (units[first : first + QUERIES] for first in range(0, len(units), QUERIES))
        return Hits.collect((row for chunk in chunks for row in self._search(chunk, k)), len(units), k, np.float32)

    def vectors(self, ids: Sequence[str]) -> Single:
        """The stored unit vectors of these ids, float32 [n, dim]; a row of NaN where the id is unknown."""
        found = np.full((len(ids), self.dim), np.nan, np.float32)
        saved = self._saved.ids.find(ids)
        for at, (id_, row) in enumerate(zip(ids, saved.tolist(), strict=True)):
            if id_ in self._row:
                found[at] = self._gather(np.array([len(self._saved.ids) + self._row[id_]]))[0]
            elif row >= 0 and self._saved.alive[row]:
                found[at] = self._saved.vectors[row]
        return found

    def _lengths(self, vectors: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        if vectors.ndim != 2 or vectors.shape[1] != self.dim:
            if vectors.size == 0:
                return np.empty(0, np.float64)
            raise BadVector(f"vectors of shape {vectors.shape}: [n, {self.dim}] is needed")
        lengths = np.empty(len(vectors), np.float64)
        for first in range(0, len(vectors), BLOCK):  # bounds what the copies in float64 take
            part = vectors[first : first + BLOCK].astype(np.float64)
            lengths[first : first + BLOCK] = np.sqrt((part * part).sum(axis=1))
        bad = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
        if len(bad):
            raise BadVector(f"vector {bad[0]} of {len(lengths)} has no direction: all zero, NaN or infinite")
        return lengths

    def _bury(self, ids: Sequence[str]) -> None:
        rows = self._saved.ids.find(ids)
        self._saved.alive[rows[rows >= 0]] = False
        self._saved.count = int(np.count_nonzero(self._saved.alive))

    def _place(self, id_: str) -> int:
        """The added part's row of this id: its own, a free one, or a new one."""
        row = self._row.get(id_)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
            self._ids[row] = id_
        else:
            row = len(self._ids)
            self._ids.append(id_)
            if row == len(self._blocks) * BLOCK:
                self._blocks.append(np.zeros((BLOCK, self.dim), np.float16))
                self._alive.append(np.zeros(BLOCK, np.bool_))
        self._row[id_] = row
        self._alive[row // BLOCK][row % BLOCK] = True
        return row

    def _all_blocks(self) -> Iterator[tuple[int, Half, Mask]]:
        """First row, vectors and living rows of each block; rows of the added part follow those of the saved one."""
        saved = len(self._saved.ids)
        for first in range(0, saved, BLOCK):
            part = slice(first, min(first + BLOCK, saved))
            yield first, self._saved.vectors[part], self._saved.alive[part]
        for number, (block, alive) in enumerate(zip(self._blocks, self._alive, strict=True)):
            used = min(BLOCK, len(self._ids) - number * BLOCK)
            # Read-only like the mapped ones: one compiled kernel serves both.
            yield saved + number * BLOCK, frozen(block[:used]), alive[:used]

    def _search(self, queries: Single, k: int) -> Iterator[tuple[list[str], Single]]:
        number, k = len(queries), min(k, len(self))
        if not k:
            return
        best = np.full((number, k), -np.inf, np.float32)
        found: list[list[tuple[Rows, Single]]] = [[] for _ in range(number)]
        scores = np.empty((number, BLOCK), np.float32)
        rows, kept = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.float32)
        for first, block, alive in self._all_blocks():
            kernels.dot(block.view(np.uint16), queries, scores)
            for query in range(number):
                new = kernels.select(scores[query, : len(block)], alive, best[query], self._margin, rows, kept)
                if new:
                    found[query].append((rows[:new] + first, kept[:new].copy()))
        for query in range(number):
            near = np.concatenate([part for part, _ in found[query]])
            enough = np.concatenate([part for _, part in found[query]]) >= best[query, 0] - self._margin
            yield self._rank(near[enough], queries[query], k)

    def _rank(self, rows: Rows, query: Single, k: int) -> tuple[list[str], Single]:
        """The k best of these rows by the score as defined, ties by id."""
        scores = np.empty(len(rows), np.float32)
        for first in range(0, len(rows), BLOCK):
            part = slice(first, first + BLOCK)
            scores[part] = (self._gather(rows[part]).astype(np.float64) * query).sum(axis=1)
        enough = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        ranked = sorted(zip((-scores[enough]).tolist(), map(self._id, rows[enough].tolist()), strict=True))[:k]
        return [id_ for _, id_ in ranked], np.array([-score for score, _ in ranked], np.float32)

    def _gather(self, rows: Rows) -> Half:
        gathered = np.empty((len(rows), self.dim), np.float16)
        saved = rows < len(self._saved.ids)
        gathered[saved] = self._saved.vectors[rows[saved]]
        added = rows - len(self._saved.ids)
        for number in np.unique(added[~saved] // BLOCK).tolist():
            here = ~saved & (added // BLOCK == number)
            gathered[here] = self._blocks[number][added[here] % BLOCK]
        return gathered

    def _id(self, row: int) -> str:
        saved = len(self._saved.ids)
        return self._saved.ids[row] if row < saved else self._ids[row - saved]  # type: ignore[return-value]

    def save(self, folder: str | Path) -> None:
        """Writes the index into ``folder`` (made if absent), rows in order of their ids; an index already there is replaced."""
        table, positions = IdTable.build(list(self._row))
        added = np.fromiter(self._row.values(), np.int64, len(self._row))[positions]
        merged = self._saved.ids.merge(self._saved.alive, table, np.ones(len(table), np.bool_))
        source = np.empty(len(merged.table), np.int64)
        source[merged.first[self._saved.alive]] = np.flatnonzero(self._saved.alive)
        source[merged.second] = added + len(self._saved.ids)
        blocks = (self._gather(source[first : first + BLOCK]) for first in range(0, len(source), BLOCK))
        arrays = (
            merged.table.blob,
            merged.table.offsets,
            flatfiles.Blocks(blocks, (len(source), self.dim), np.float16),
        )
        flatfiles.save(Path(folder), KIND, {"dim": self.dim}, dict(zip(ARRAYS, arrays, strict=True)))

    @classmethod
    def open(cls, folder: str | Path, *, verify: bool = False) -> Self:
        """Opens a saved index by memory map: processes share its pages; what is added afterwards stays in memory.

        With ``verify`` every byte is compared with its checksum. Raises UnusableSnapshot when the folder is damaged,
        unfinished or not a vector index.
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
            raise UnusableSnapshot(f"{folder}: its arrays do not fit together; copy or save it anew")
        index = cls(vectors.shape[1])
        index._saved = _Saved.of(IdTable(frozen(blob), frozen(offsets)), vectors)
        return index


def _units(vectors: npt.NDArray[Any], lengths: npt.NDArray[np.float64]) -> Single:
    return (vectors / lengths[:, None]).astype(np.float32)
