"""Vectors in rows, changed by one writer at a time while others read: every reader keeps the state of one moment.

What readers see is a ``View``, which never changes; a change makes a new one and puts it in the old one's place at once.
A vector is written into a place that no view shows, and a place that lost its vector is written again only when no view
that shows it is held any more. So nobody waits for a reader, no reader waits for a writer, and no row is ever seen half
written or under another's id.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import numpy.typing as npt

from reflink.idtable import ABSENT, IdTable, frozen
from reflink.semantic import kernels

if TYPE_CHECKING:
    from reflink.semantic.device import DeviceRows, DeviceView

#: Rows with a mask of their own, and rows of spare capacity at a time: 12 MB of 384 dimensions.
BLOCK: Final = 16_384

Half = npt.NDArray[np.float16]
Single = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Block:
    """Rows end to end and which of them live; ``ids``: of the added rows, None where the table of the saved part has them."""

    vectors: Half
    alive: Mask
    ids: npt.NDArray[np.object_] | None = None


@dataclass(frozen=True, eq=False)
class View:
    """The rows at one moment: first those of the saved part, in order of their ids, then those added.

    A row is told by one number: places of the saved part, then ``BLOCK`` for each block of the added part. ``count``: how
    many live.
    """

    ids: IdTable
    vectors: Half
    saved: tuple[Block, ...]
    added: tuple[Block, ...]
    count: int
    device: DeviceView | None = None

    @classmethod
    def of(cls, ids: IdTable, vectors: Half) -> Self:
        """A saved part, all of it alive."""
        vectors = frozen(vectors)
        parts = (vectors[first : first + BLOCK] for first in range(0, len(ids), BLOCK))
        return cls(ids, vectors, tuple(Block(part, frozen(np.ones(len(part), np.bool_))) for part in parts), (), len(ids))

    @property
    def dim(self) -> int:
        """The length of a row."""
        return int(self.vectors.shape[1])

    @property
    def rows(self) -> int:
        """Rows there are, living or not."""
        return len(self.ids) + (0 if not self.added else (len(self.added) - 1) * BLOCK + len(self.added[-1].vectors))

    def blocks(self) -> Iterator[tuple[int, Block]]:
        """All blocks, each with the number of its first row."""
        for number, block in enumerate(self.saved):
            yield number * BLOCK, block
        for number, block in enumerate(self.added):
            yield len(self.ids) + number * BLOCK, block

    def alive(self) -> Mask:
        """Which rows live."""
        alive = np.zeros(self.rows, np.bool_)
        for first, block in self.blocks():
            alive[first : first + len(block.alive)] = block.alive
        return alive

    def gather(self, rows: Rows) -> Half:
        """The vectors of these rows."""
        gathered = np.empty((len(rows), self.dim), np.float16)
        for here, block, places in self._parts(rows):
            gathered[here] = block[places]
        return gathered

    def exact(self, rows: Rows, queries: Single, query_of: Rows) -> Single:
        """The scores as defined of these rows, each against ``queries[query_of]``."""
        scores = np.empty(len(rows), np.float32)
        for here, block, places in self._parts(rows):
            part = np.empty(len(places), np.float32)
            kernels.exact(frozen(block.view(np.uint16)), places, queries, query_of[here], part)
            scores[here] = part
        return scores

    def _parts(self, rows: Rows) -> Iterator[tuple[Any, Half, Rows]]:
        """The rows by array: their positions, the array, and the places there."""
        saved, last = len(self.ids), int(rows.max(initial=-1))
        if last < saved:
            yield slice(None), self.vectors, rows
            return
        here = np.flatnonzero(rows < saved)
        yield here, self.vectors, rows[here]
        numbers = (rows - saved) // BLOCK  # negative for those of the saved part
        for number in np.unique(numbers[rows >= saved]).tolist():
            here = np.flatnonzero(numbers == number)
            yield here, self.added[number].vectors, rows[here] - saved - number * BLOCK

    def names(self, rows: Rows) -> npt.NDArray[np.object_]:
        """The ids of these rows."""
        found = np.empty(len(rows), np.object_)
        here = np.flatnonzero(rows < len(self.ids))
        if len(here):
            gathered, begins = kernels.gather_bytes(self.ids.blob, self.ids.offsets, rows[here])
            data, at = gathered.tobytes(), begins.tolist()
            found[here] = [data[at[i] : at[i + 1]].decode("utf-8", "surrogatepass") for i in range(len(here))]
        numbers = (rows - len(self.ids)) // BLOCK  # negative for those of the saved part
        for number in np.unique(numbers[numbers >= 0]).tolist():
            here, ids = np.flatnonzero(numbers == number), self.added[number].ids
            assert ids is not None
            found[here] = ids[rows[here] - len(self.ids) - number * BLOCK]
        return found


class GrowingRows:
    """The writer's side: ``view`` is what readers take, once for each question; changes wait for one another."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.lock: Final = threading.Lock()
        self._saved_ids: Final = view.ids
        self._vectors: list[Half] = []  # the added blocks, writable and whole
        self._ids: list[npt.NDArray[np.object_]] = []
        self._row: dict[str, int] = {}
        self._free: list[int] = []
        self._used = 0  # places of the added part that were ever given away
        self._retired: deque[tuple[weakref.ref[View], list[int]]] = deque()
        self._device: DeviceRows | None = None

    def find(self, ids: Sequence[str]) -> Rows:
        """The row of each id, ABSENT where there is none. For whoever holds the lock."""
        rows, base, saved = self._saved_ids.find(ids), len(self._saved_ids), self.view.saved
        for at, (id_, row) in enumerate(zip(ids, rows.tolist(), strict=True)):
            if row < 0 or not saved[row // BLOCK].alive[row % BLOCK]:
                rows[at] = base + self._row[id_] if id_ in self._row else ABSENT
        return rows

    def put(self, ids: Sequence[str], vectors: Half) -> None:
        """Adds the vectors of these ids, each named once, or replaces them. Nothing has changed when it raises."""
        with self.lock:
            self._reclaim()
            known = self._living(ids)
            places = self._places(len(ids))
            try:
                self._write(places, ids, vectors)
                self._publish(known, np.array(places, np.int64) + len(self._saved_ids))
            except Exception:  # of the device, or memory is full: nothing of it is shown yet
                self._free += places
                raise
            self._row.update(zip(ids, places, strict=True))

    def drop(self, ids: Sequence[str]) -> None:
        """Removes these ids; unknown ones are passed over."""
        with self.lock:
            self._reclaim()
            known = self._living(list(dict.fromkeys(ids)))
            if len(known):
                self._publish(known, np.empty(0, np.int64))
            for id_ in ids:
                self._row.pop(id_, None)

    def attach(self, device: DeviceRows | None) -> None:
        """Has every change written to ``device``, which holds all rows of the view, too. For whoever holds the lock."""
        self._device = device
        self._retired.append((weakref.ref(self.view), []))
        self.view = replace(self.view, device=None if device is None else device.view())

    def _living(self, ids: Sequence[str]) -> Rows:
        """The rows that these ids have now."""
        rows = self.find(ids)
        return rows[rows >= 0]

    def _places(self, number: int) -> list[int]:
        """Places that no view shows: those free again, then new ones."""
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

    def _publish(self, dead: Rows, born: Rows) -> None:
        """Makes what lives known, in one assignment."""
        old, base = self.view, len(self._saved_ids)
        saved, added = list(old.saved), list(old.added)
        rows = np.concatenate([dead, born])
        lives = np.arange(len(rows)) >= len(dead)
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
        shown = None if self._device is None else self._device.change(dead, born)
        count = old.count - len(dead) + len(born)
        new = replace(old, saved=tuple(saved), added=tuple(added), count=count, device=shown)
        # A place is free when this and all older views are gone. Whatever interrupts these lines, at worst places are lost.
        retired: list[int] = []
        self._retired.append((weakref.ref(old), retired))
        self.view = new
        retired += (dead[dead >= base] - base).tolist()

    def _reclaim(self) -> None:
        """Frees the places of rows that no reader can see any more. Views may go in any order, the oldest decides."""
        while self._retired and self._retired[0][0]() is None:
            self._free += self._retired.popleft()[1]
