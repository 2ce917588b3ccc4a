"""The steps of a search on a GPU. A batch of n queries goes through each step together.

1. Verify the seeds: count their overlap in their own trigrams. Seeds and floors give a first bound t for each query; a row with
   a score below t is not among the best.
2. Count the bitmaps of each query in every block of 2,048 rows whose sizes can reach t, and keep the greatest count of the
   block, two bytes per block and query.
3. Verify rows with the greatest count in up to 32 blocks per query. This raises t to the k-th best score found.
4. Count again the blocks whose greatest count reaches the count needed for t, and verify their rows with that count.
5. After each verification the host inserts the hits into the best rows by ``heaps.insert``, as the CPU's search does.

Invariant, as in ``searching``: a bitmap that is not counted is credited to every row, so count plus credit is never below the
overlap, and step 4 misses no row that reaches t. The blocks tried in step 3 and the number of bitmaps counted affect the time
and not the result.

Cost: step 2 is nearly all of the work. It reads 256 bytes per bitmap and block, so 66 MB for a query of 100 trigrams over 5.27
million rows, mostly from L2: all queries of a batch visit a block before the next one, so the bitmaps of all blocks are read
from memory once per batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.lexical.cpu.bounds import needed, score
from reflink.lexical.cpu.heaps import insert
from reflink.lexical.cpu.planning import counted
from reflink.lexical.cpu.searching import CLEARANCE
from reflink.lexical.cpu.vectors import ROWS
from reflink.lexical.cpu.verifying import Best
from reflink.lexical.gpu import kernels
from reflink.lexical.gpu.arrays import DeviceArrays, sent
from reflink.lexical.layout import WORDS, Floats, Ints, Layout, Ranks, Sizes
from reflink.lexical.queries import Queries

Numbers = npt.NDArray[np.int32]

_COUNTED: Final = kernels.COUNTED


class Found(NamedTuple):
    """The best rows of n queries: rows and scores [n, k], best first; number found [n]; rows verified; pairs counted again."""

    rows: Ints
    scores: Floats
    found: Ints
    verified: int
    recounted: int


class Batch:
    """Queries that are searched at once. ``best``: the state of each query; ``verified`` is not counted."""

    def __init__(self, segment: DeviceArrays, queries: Queries, k: int) -> None:
        self._segment, self._queries = segment, queries
        self._number = len(queries.floors)
        self._sizes = np.diff(queries.offsets).astype(np.int32)
        self._wanted = sent(self._sizes)
        self.best: Final = Best(
            queries.floors.copy(), np.zeros(self._number, np.int64), np.zeros(self._number, np.int64),
            np.full((self._number, k), -1, np.int64), np.zeros((self._number, k)),
        )  # fmt: skip
        self._verified = 0

    def search(self) -> Found | None:
        """Return the best rows of each query; None if there was no room for all rows to verify."""
        segment = self._segment
        codes, offsets = sent(self._queries.codes), sent(self._queries.offsets)
        kernels.sets_of[self._number, kernels.THREADS](codes, offsets, segment.present)
        self._verify_seeds()
        self._count()
        # Rows for which there is no room here are found again below.
        self._verify(min(segment.room, self._near(self._pairs_to_try(), 1)))
        pairs = self._pairs_that_reach()
        near = self._near(pairs, 64)
        if near > segment.room:
            return None
        self._verify(near)
        return Found(self.best.rows, self.best.scores, self.best.found, self._verified, pairs)

    def _verify_seeds(self) -> None:
        segment, seeds = self._segment, self._queries.seeds.astype(np.int32)
        queries = np.repeat(np.arange(self._number, dtype=np.int32), np.diff(self._queries.seed_offsets))
        for begin in range(0, len(seeds), segment.room):
            size = min(len(seeds) - begin, segment.room)
            segment.near[0][:size].copy_to_device(queries[begin : begin + size])
            segment.near[1][:size].copy_to_device(seeds[begin : begin + size])
            self._verify(size)

    def _count(self) -> None:
        """Write the greatest count of each query and block to ``segment.greatest``."""
        segment = self._segment
        plan = planned(segment.layout, self._queries, self.best.bounds)
        self._places, self._numbers, self._credits = (sent(array) for array in plan)
        self._greatest = segment.greatest(self._number)
        groups = -(-self._number // kernels.WARPS)
        kernels.greatest_counts[segment.blocks * groups, (kernels.LANES, kernels.WARPS)](
            segment.bits, segment.stride, segment.sizes, self._places, self._numbers, self._wanted, sent(self.best.bounds),
            self._number, self._greatest,
        )  # fmt: skip

    def _pairs_to_try(self) -> int:
        segment = self._segment
        shares = min(kernels.SHARES, segment.blocks)
        pairs = shares * self._number
        kernels.pairs_to_try[-(-pairs // kernels.THREADS), kernels.THREADS](
            self._greatest, segment.sizes, self._wanted, self._credits, self._number, segment.blocks, shares,
            segment.pairs, segment.required,
        )  # fmt: skip
        return pairs

    def _pairs_that_reach(self) -> int:
        segment = self._segment
        self._set_to_zero(kernels.PAIRS)
        kernels.pairs_that_reach[-(-segment.blocks * self._number // kernels.THREADS), kernels.THREADS](
            self._greatest, segment.sizes, self._numbers, self._wanted, self._credits, sent(self.best.bounds), self._number,
            segment.blocks, segment.pairs, segment.required, segment.counters,
        )  # fmt: skip
        return self._counter(kernels.PAIRS)

    def _near(self, pairs: int, limit: int) -> int:
        """Write the rows of the first ``pairs`` pairs that have the count needed to ``segment.near``; return their number."""
        segment = self._segment
        self._set_to_zero(kernels.NEAR)
        if pairs:
            kernels.rows_of_pairs[-(-pairs // kernels.WARPS), (kernels.LANES, kernels.WARPS)](
                segment.bits, segment.stride, segment.texts, self._places, self._numbers, self._number, segment.pairs,
                segment.required, pairs, limit, segment.near, segment.counters,
            )  # fmt: skip
        return self._counter(kernels.NEAR)

    def _verify(self, size: int) -> None:
        """Verify the first ``size`` rows of ``segment.near`` and insert the hits into the best rows."""
        if not size:
            return
        segment = self._segment
        self._set_to_zero(kernels.HITS)
        kernels.hits_of_rows[-(-size // kernels.VERIFIED), (kernels.PARTS, kernels.VERIFIED)](
            segment.codes, segment.offsets, segment.sizes, segment.alive, segment.present, self._wanted, sent(self.best.bounds),
            segment.near, size, segment.hits, segment.counters,
        )  # fmt: skip
        self._verified += size
        if hits := self._counter(kernels.HITS):
            queries, rows, overlaps = (segment.hits[at][:hits].copy_to_host() for at in range(3))
            _collect(queries, rows, overlaps, self._sizes, segment.layout.sizes, segment.ranks, self.best)

    def _counter(self, number: int) -> int:
        return int(self._segment.counters.copy_to_host()[number])

    def _set_to_zero(self, number: int) -> None:
        self._segment.counters[number : number + 1].copy_to_device(np.zeros(1, np.int64))


def joined(parts: Sequence[Found], k: int) -> Found:
    """Concatenate the results of consecutive groups of queries."""
    if not parts:
        return Found(np.empty((0, k), np.int64), np.empty((0, k)), np.empty(0, np.int64), 0, 0)
    rows, scores, found = (np.concatenate([part[at] for part in parts]) for at in range(3))
    return Found(rows, scores, found, sum(part.verified for part in parts), sum(part.recounted for part in parts))


@compiled(nogil=True)
def _collect(
    queries: Numbers, near: Numbers, overlaps: Numbers, wanted: Numbers, sizes: Sizes, ranks: Ranks, best: Best
) -> None:
    """Insert hits into the best rows of their queries, and raise each bound to the k-th best score."""
    k = best.rows.shape[1]
    for at in range(len(queries)):
        query, row = queries[at], np.int64(near[at])
        value = score(np.int64(overlaps[at]), np.int64(wanted[query]), np.int64(sizes[row]))
        if value >= best.bounds[query]:
            best.found[query] = insert(best.rows[query], best.scores[query], best.found[query], row, value, ranks)
            if best.found[query] == k:
                best.bounds[query] = max(best.bounds[query], best.scores[query, k - 1])


@compiled(nogil=True)
def planned(layout: Layout, queries: Queries, bounds: Floats) -> tuple[Numbers, Numbers, Numbers]:
    """Choose the bitmaps to count: offsets within a block [queries, width], numbers of them [queries], credits [queries].

    ``bounds`` [queries]: the min scores.

    Counts all bitmaps of a query, up to ``kernels.COUNTED``, or fewer if the rarest already discriminate rows that may
    reach the bound, as in ``searching``. Numbers are multiples of ``ROWS``; the empty bitmap pads them.
    """
    codes, offsets, count, longest = queries.codes, queries.offsets, len(queries.floors), 0
    for query in range(count):
        longest = max(longest, offsets[query + 1] - offsets[query])
    mean = max(1.0, len(layout.codes) / len(layout.sizes))
    width = -(-max(1, min(longest, _COUNTED)) // ROWS) * ROWS
    places = np.full((count, width), len(layout.shares) * WORDS, np.int32)
    numbers, credits_ = np.zeros(count, np.int32), np.zeros(count, np.int32)
    bitmaps, chances = np.empty(longest + ROWS, np.int32), np.zeros(longest // ROWS + 2, np.float64)
    none = np.empty(0, np.int64)  # posting lists are not counted here
    for query in range(count):
        a, t = offsets[query + 1] - offsets[query], min(1.0, bounds[query])
        known = counted(layout, codes[offsets[query] : offsets[query + 1]], none, bitmaps, chances)
        number = min(known, _COUNTED)
        shortest = max(1, int(a * t / (2.0 - t)))  # the least size that can reach t
        for part in range(1, -(-number // ROWS) if t > 0.0 else 0):
            enough = True
            for b in (shortest, a):
                chance = chances[part] * b / mean
                if needed(t, a, b) - (known - part * ROWS) <= chance + CLEARANCE * np.sqrt(chance) + 1:
                    enough = False
            if enough:
                number = part * ROWS
                break
        for at in range(number):
            places[query, at] = bitmaps[at] * WORDS
        numbers[query], credits_[query] = -(-number // ROWS) * ROWS, known - number
    return places, numbers, credits_
