"""Vectors in rows that one writer at a time changes while others read, with snapshot isolation and without locks for readers.

Readers take a ``View``, an immutable snapshot. Views share the arrays of vectors, so a change copies one mask per block that it
touches, and no vector. A *place* is a position in the added part; a view *shows* a place if the row there is alive in it.

Invariant: while a reader holds a view, no vector and no id of a row that is alive in it changes. The order of publication is
the proof:

1. One writer at a time makes changes: ``GrowingRows.lock``.
2. The writer writes vectors and ids only into places that no held view shows: places that were never used, or free places.
3. It then builds the new view, with new masks and counts; existing views and masks stay as they are.
4. It then assigns ``GrowingRows.view``, once. A reader therefore sees all of a change or nothing of it.
5. It then retires the places of the removed rows with a weak reference to the old view, the last one that shows them. In this
   order an interruption between two steps can lose places for reuse, but cannot free a place that the current view shows.
6. A retired place becomes free when that view and all older views are gone, because an older view may show it too.

So no writer waits for a reader, no reader waits for a writer, and no reader sees a row half written or under another row's id.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Self

import numpy as np
import numpy.typing as npt

from reflink.semantic.cpu import kernels
from reflink.storage.idtable import ABSENT, IdTable, frozen

#: Rows per block. A block has its own mask, and capacity grows by one block: 12 MB at 384 dimensions.
BLOCK: Final = 16_384

Half = npt.NDArray[np.float16]
Single = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Block:
    """Contiguous rows and the mask of the living ones. ``ids``: None for the saved part, whose ids are in ``View.ids``."""

    vectors: Half
    alive: Mask
    ids: npt.NDArray[np.object_] | None = None


class OnDevice(Protocol):
    """The rows of one view on a torch device."""

    def read(self, view: View) -> Iterator[tuple[int, Any, Any]]:
        """Yield all rows, part by part: number of the first row, vectors, and mask of the living rows."""
        ...


class DeviceCopy(Protocol):
    """A copy of all rows on a torch device that receives every change."""

    def view(self) -> OnDevice:
        """Return the current rows."""
        ...

    def reserve(self, rows: int) -> None:
        """Ensure capacity for ``rows`` rows in total."""
        ...

    def write(self, rows: Rows, vectors: Half) -> None:
        """Write vectors to rows that no view shows."""
        ...

    def change(self, removed: Rows, added: Rows) -> OnDevice:
        """Return a view without the rows ``removed`` and with the rows ``added``; earlier views do not change."""
        ...


@dataclass(frozen=True, eq=False)
class View:
    """The rows at one moment: first the saved part, in order of the ids, then the added part.

    A row number counts through both parts: first the rows of the saved part, then ``BLOCK`` rows per block of the added part.
    ``count``: number of living rows.
    """

    ids: IdTable
    vectors: Half
    saved: tuple[Block, ...]
    added: tuple[Block, ...]
    count: int
    device: OnDevice | None = None

    @classmethod
    def of(cls, ids: IdTable, vectors: Half) -> Self:
        """Return the view of a saved part with all rows alive."""
        vectors = frozen(vectors)
        parts = (vectors[first : first + BLOCK] for first in range(0, len(ids), BLOCK))
        return cls(ids, vectors, tuple(Block(part, frozen(np.ones(len(part), np.bool_))) for part in parts), (), len(ids))

    @property
    def dim(self) -> int:
        """Number of dimensions of a vector."""
        return int(self.vectors.shape[1])

    @property
    def rows(self) -> int:
        """Number of rows, living or not."""
        return len(self.ids) + (0 if not self.added else (len(self.added) - 1) * BLOCK + len(self.added[-1].vectors))

    def blocks(self) -> Iterator[tuple[int, Block]]:
        """Yield every block with the number of its first row."""
        for number, block in enumerate(self.saved):
            yield number * BLOCK, block
        for number, block in enumerate(self.added):
            yield len(self.ids) + number * BLOCK, block

    def alive(self) -> Mask:
        """Return the mask of the living rows: bool [rows]."""
        alive = np.zeros(self.rows, np.bool_)
        for first, block in self.blocks():
            alive[first : first + len(block.alive)] = block.alive
        return alive

    def gather(self, rows: Rows) -> Half:
        """Return the vectors of these rows: float16 [n, dim]."""
        gathered = np.empty((len(rows), self.dim), np.float16)
        for here, block, places in self._parts(rows):
            gathered[here] = block[places]
        return gathered

    def exact(self, rows: Rows, queries: Single, query_of: Rows) -> Single:
        """Return the exact scores (see ``VectorIndex``) of row i against ``queries[query_of[i]]``: float32 [n]."""
        scores = np.empty(len(rows), np.float32)
        for here, block, places in self._parts(rows):
            part = np.empty(len(places), np.float32)
            kernels.exact(frozen(block.view(np.uint16)), places, queries, query_of[here], part)
            scores[here] = part
        return scores

    def _parts(self, rows: Rows) -> Iterator[tuple[Any, Half, Rows]]:
        """Group the rows by the array that holds them: positions in ``rows``, the array, and positions in the array."""
        saved, last = len(self.ids), int(rows.max(initial=-1))
        if last < saved:
            yield slice(None), self.vectors, rows
            return
        here = np.flatnonzero(rows < saved)
        yield here, self.vectors, rows[here]
        numbers = (rows - saved) // BLOCK  # negative for rows of the saved part
        for number in np.unique(numbers[rows >= saved]).tolist():
            here = np.flatnonzero(numbers == number)
            yield here, self.added[number].vectors, rows[here] - saved - number * BLOCK

    def names(self, rows: Rows) -> npt.NDArray[np.object_]:
        """Return the ids of these rows: object [n]."""
        found = np.empty(len(rows), np.object_)
        here = np.flatnonzero(rows < len(self.ids))
        if len(here):
            gathered, begins = kernels.gather_bytes(self.ids.blob, self.ids.offsets, rows[here])
            data, at = gathered.tobytes(), begins.tolist()
            found[here] = [data[at[i] : at[i + 1]].decode("utf-8", "surrogatepass") for i in range(len(here))]
        numbers = (rows - len(self.ids)) // BLOCK  # negative for rows of the saved part
        for number in np.unique(numbers[numbers >= 0]).tolist():
            here, ids = np.flatnonzero(numbers == number), self.added[number].ids
            assert ids is not None
            found[here] = ids[rows[here] - len(self.ids) - number * BLOCK]
        return found


class GrowingRows:
    """The writer's side. Readers take ``view`` once per search. Changes are serialised by ``lock``."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.lock: Final = threading.Lock()
        self._saved_ids: Final = view.ids
        self._vectors: list[Half] = []  # the added blocks, writable, at full capacity
        self._ids: list[npt.NDArray[np.object_]] = []
        self._row: dict[str, int] = {}
        self._free: list[int] = []
        self._used = 0  # places of the added part that were ever allocated
        self._retired: deque[tuple[weakref.ref[View], list[int]]] = deque()
        self._device: DeviceCopy | None = None

    def find(self, ids: Sequence[str]) -> Rows:
        """Return the row of each id, ABSENT for an unknown id. The caller holds the lock."""
        rows, base, saved = self._saved_ids.find(ids), len(self._saved_ids), self.view.saved
        for at, (id_, row) in enumerate(zip(ids, rows.tolist(), strict=True)):
            if row < 0 or not saved[row // BLOCK].alive[row % BLOCK]:
                rows[at] = base + self._row[id_] if id_ in self._row else ABSENT
        return rows

    def put(self, ids: Sequence[str], vectors: Half) -> None:
        """Add or replace the vectors of these distinct ids. If it raises, nothing has changed."""
        with self.lock:
            self._reclaim()
            known = self._living(ids)
            places = self._places(len(ids))
            try:
                self._write(places, ids, vectors)
                self._publish(known, np.array(places, np.int64) + len(self._saved_ids))
            except Exception:  # from the device, or out of memory: the places are not published yet
                self._free += places
                raise
            self._row.update(zip(ids, places, strict=True))

    def drop(self, ids: Sequence[str]) -> None:
        """Remove these ids; unknown ids are ignored."""
        with self.lock:
            self._reclaim()
            known = self._living(list(dict.fromkeys(ids)))
            if len(known):
                self._publish(known, np.empty(0, np.int64))
            for id_ in ids:
                self._row.pop(id_, None)

    def attach(self, device: DeviceCopy | None) -> None:
        """Write every later change to ``device`` as well, which holds all rows of the view. The caller holds the lock."""
        self._device = device
        self._retired.append((weakref.ref(self.view), []))
        self.view = replace(self.view, device=None if device is None else device.view())

    def _living(self, ids: Sequence[str]) -> Rows:
        """Return the current rows of the known ones of these ids."""
        rows = self.find(ids)
        return rows[rows >= 0]

    def _places(self, number: int) -> list[int]:
        """Allocate places that no view shows: free places first, then new ones."""
        fresh = max(0, number - len(self._free))
        for _ in range(len(self._vectors), -(-(self._used + fresh) // BLOCK)):
            block = np.zeros((BLOCK, self.view.dim), np.float16)
            self._ids.append(np.full(BLOCK, None, np.object_))
            self._vectors.append(block)
        if self._device is not None:
            self._device.reserve(len(self._saved_ids) + self._used + fresh)
        kept = len(self._free) - (number - fresh)
        places = [*self._free[kept:][::-1], *range(self._used, self._used + fresh)]
        del self._free[kept:]
        self._used += fresh
        return places

    def _write(self, places: list[int], ids: Sequence[str], vectors: Half) -> None:
        rows, names = np.array(places, np.int64), np.array(ids, np.object_)
        if self._device is not None:
            self._device.write(rows + len(self._saved_ids), vectors)
        for number in np.unique(rows // BLOCK).tolist():
            here = np.flatnonzero(rows // BLOCK == number)
            self._vectors[number][rows[here] - number * BLOCK] = vectors[here]
            self._ids[number][rows[here] - number * BLOCK] = names[here]

    def _publish(self, removed: Rows, added_rows: Rows) -> None:
        """Publish a view without the rows ``removed`` and with the rows ``added_rows``, in one assignment."""
        old, base = self.view, len(self._saved_ids)
        saved, added = list(old.saved), list(old.added)
        rows = np.concatenate([removed, added_rows])
        lives = np.arange(len(rows)) >= len(removed)
        numbers = np.where(rows < base, rows // BLOCK, len(saved) + (rows - base) // BLOCK)
        places = np.where(rows < base, rows, rows - base) % BLOCK
        for number in np.unique(numbers).tolist():
            here, at = numbers == number, number - len(saved)
            if at < 0:
                block = saved[number]
            else:
                while len(added) <= at:
                    added.append(Block(self._vectors[len(added)][:0], np.empty(0, np.bool_), self._ids[len(added)]))
                block = replace(added[at], vectors=frozen(self._vectors[at][: min(BLOCK, self._used - at * BLOCK)]))
            alive = np.zeros(len(block.vectors), np.bool_)
            alive[: len(block.alive)] = block.alive
            alive[places[here]] = lives[here]
            (saved if at < 0 else added)[number if at < 0 else at] = replace(block, alive=frozen(alive))
        shown = None if self._device is None else self._device.change(removed, added_rows)
        count = old.count - len(removed) + len(added_rows)
        new = replace(old, saved=tuple(saved), added=tuple(added), count=count, device=shown)
        # Steps 4 and 5 of the invariant. The list of places is filled last: filled before the assignment, it could free places
        # that are still shown. An interruption between these lines loses places for reuse, at worst.
        retired: list[int] = []
        self._retired.append((weakref.ref(old), retired))
        self.view = new
        retired += (removed[removed >= base] - base).tolist()

    def _reclaim(self) -> None:
        """Free the retired places that no held view shows. Views may be released in any order; the oldest held one decides."""
        while self._retired and self._retired[0][0]() is None:
            self._free += self._retired.popleft()[1]
