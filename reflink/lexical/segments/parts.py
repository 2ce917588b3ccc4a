"""Segments with the mask of their living rows: the immutable state that a search reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

import numpy as np

from reflink.lexical.cpu import counting, searching
from reflink.lexical.layout import Floats, Ints, LiveRows, Mask
from reflink.lexical.queries import Queries
from reflink.lexical.segments.segment import Segment
from reflink.storage.idtable import ABSENT, frozen

#: Max queries in one search of a segment: its bitmaps are read once for all of them.
QUERIES: Final = 256


class OnDevice(Protocol):
    """A segment on a device, as ``gpu.segment.DeviceSegment``."""

    @property
    def nbytes(self) -> int:
        """Return the memory that the segment and its searches take there."""
        ...

    def search(self, alive: Mask, queries: Queries, k: int) -> tuple[Ints, Floats, Ints, int, int]:
        """Return rows and scores [n, k] and the number found [n]: the same as ``searching.search``."""
        ...


@dataclass(frozen=True, eq=False)
class Part:
    """A segment and its living rows: ``alive`` bool [n] is the mask, ``count`` their number.

    ``device``: the segment on the device that searches it; None: the CPU searches it.
    """

    segment: Segment
    alive: Mask
    count: int
    device: OnDevice | None = None

    @classmethod
    def of(cls, segment: Segment, alive: Mask | None = None, device: OnDevice | None = None) -> Self:
        """Return a part of ``segment``; without ``alive`` all rows are alive."""
        alive = np.ones(len(segment), np.bool_) if alive is None else alive
        return cls(segment, frozen(alive), int(np.count_nonzero(alive)), device)

    def without(self, ids: Sequence[str]) -> Self:
        """Return the part without these ids; unknown ids are ignored."""
        rows = self.segment.find(ids)
        rows = rows[rows != ABSENT]
        if not self.alive[rows].any():
            return self
        alive = self.alive.copy()
        alive[rows] = False
        return type(self).of(self.segment, alive, self.device)

    def holds(self, ids: Sequence[str]) -> Ints:
        """Return the living row of each id, ABSENT if there is none: int64 [n]."""
        rows = self.segment.find(ids)
        here = rows != ABSENT
        here[here] = self.alive[rows[here]]
        rows[~here] = ABSENT
        return rows

    def merge(self, other: Part) -> Part:
        """Return one part with the living rows of both; no id is alive in both."""
        return Part.of(self.segment.merge(self.alive, other.segment, other.alive))

    def compact(self) -> Part:
        """Return the part without its dead rows."""
        return self if self.count == len(self.segment) else self.merge(Part.of(Segment.build([], [])))

    def search(self, queries: Queries, k: int) -> tuple[list[list[str]], Floats, Ints]:
        """Return the k best texts of each of n queries: ids; scores [n, k], best first; number found [n].

        Seeds must be living rows.
        """
        own, ranks = self.segment.layout, self.segment.ranks
        live = LiveRows(own, ranks, self.alive)
        if self.device is not None:
            rows, scores, found, _, _ = self.device.search(self.alive, queries, k)
        elif not len(own.shares):
            rows, scores, found = counting.search(live, queries, k)
        else:
            # The best texts mostly have the size of the queries: read these blocks first, then outwards.
            blocks, size = self.segment.blocks, np.sort(np.diff(queries.offsets))[len(queries.floors) // 2]
            order = np.argsort(np.abs(blocks[:, 1] - size), kind="stable")
            rows, scores, found, _ = searching.search(live, queries, k, blocks[order])
        ids = [self.segment.ids.decode(ranks[best[:size]].tolist()) for best, size in zip(rows, found, strict=True)]
        return ids, scores, found
