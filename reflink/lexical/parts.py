"""What a search sees: segments, and which of their rows are alive, as they were at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from reflink.idtable import ABSENT, frozen
from reflink.lexical import counting, searching
from reflink.lexical.layout import BLOCK, Codes, Floats, Ints, Mask
from reflink.lexical.segments import Segment

#: Queries that a segment is searched for together: its bitmaps are read once for them.
QUERIES: Final = 256


@dataclass(frozen=True, eq=False)
class Part:
    """A segment and its living rows: ``alive`` bool [n], ``count`` of them."""

    segment: Segment
    alive: Mask
    count: int

    @classmethod
    def of(cls, segment: Segment, alive: Mask | None = None) -> Self:
        """With all rows alive unless told which."""
        alive = np.ones(len(segment), np.bool_) if alive is None else alive
        return cls(segment, frozen(alive), int(np.count_nonzero(alive)))

    def without(self, ids: Sequence[str]) -> Self:
        """The same without these ids; those that are not here are passed over."""
        rows = self.segment.find(ids)
        rows = rows[rows != ABSENT]
        if not self.alive[rows].any():
            return self
        alive = self.alive.copy()
        alive[rows] = False
        return type(self).of(self.segment, alive)

    def holds(self, ids: Sequence[str]) -> Ints:
        """The living row of each id, ABSENT where there is none."""
        rows = self.segment.find(ids)
        here = rows != ABSENT
        here[here] = self.alive[rows[here]]
        rows[~here] = ABSENT
        return rows

    def merge(self, other: Part) -> Part:
        """One part of the living rows of both; no id lives in both."""
        return Part.of(self.segment.merge(self.alive, other.segment, other.alive))

    def compact(self) -> Part:
        """The same without its dead rows."""
        return self if self.count == len(self.segment) else self.merge(Part.of(Segment.build([], [])))

    def search(
        self, codes: Codes, offsets: Ints, k: int, floors: Floats, seeds: Ints, seed_offsets: Ints
    ) -> tuple[list[list[str]], Floats, Ints]:
        """The k best of each of n queries, given by their trigrams: ids; scores [n, k], best first; and how many of each.

        ``floors``: least scores; ``seeds[seed_offsets[i]:seed_offsets[i + 1]]``: living rows that are good for query i.
        """
        own = self.segment.layout
        if not len(own.shares):
            rows, scores, found = counting.search(own, self.segment.ranks, self.alive, codes, offsets, k, floors)
        else:
            # The best are mostly of the queries' size: first where they are, then outwards.
            sizes = own.sizes[::BLOCK].astype(np.float64)
            blocks = np.argsort(np.abs(sizes - np.median(np.diff(offsets))), kind="stable")
            rows, scores, found, _ = searching.search(
                own, self.segment.ranks, self.alive, codes, offsets, k, floors, seeds, seed_offsets, blocks
            )
        ranks = self.segment.ranks
        ids = [self.segment.ids.decode(ranks[rows[query, : found[query]]].tolist()) for query in range(len(offsets) - 1)]
        return ids, scores, found
