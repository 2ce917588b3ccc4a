"""The steps of a search on a GPU: a batch of n queries goes through all of them together.

1. Rows that the caller knows to be good are *verified*: their overlap is counted in their own trigrams. With the floors they
   give a first bound t for each query: a row below it can't be among the best.
2. The bitmaps of each query are counted in every block of 2,048 rows whose sizes can reach t, and the greatest count of the
   block is kept, two bytes a block. This is nearly all of the work: 256 bytes a bitmap and block, so 66 MB for a query of 100
   trigrams over 5.27 million rows. They come from L2: all queries of a batch visit a block before the next, and the bitmaps
   themselves, a block of them times the number of blocks, are read from memory once a batch.
3. In 32 blocks of each query rows with the greatest count are verified: so t becomes the k-th best of them.
4. Blocks whose greatest count reaches what t needs are counted again, and their rows with that count are verified.
5. The host puts those that reach t in order, by the same ``heaps.insert`` as the CPU's search.

As in ``searching``, a bitmap that is not counted is credited to every row, so a count and its credit are never below an
overlap, and no row that reaches t is left out. What is tried in step 3, and how many bitmaps are counted, decides the time, no
result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import cuda

from reflink.lexical import devicekernels as kernels
from reflink.lexical.bounds import needed, score
from reflink.lexical.heaps import insert
from reflink.lexical.layout import WORDS, Codes, Floats, Ints, Layout, Ranks, Sizes
from reflink.lexical.planning import counted
from reflink.lexical.searching import CLEARANCE
from reflink.lexical.vectors import ROWS

if TYPE_CHECKING:
    from reflink.lexical.device import DeviceSegment

Numbers = npt.NDArray[np.int32]

_COUNTED: Final = kernels.COUNTED


class Found(NamedTuple):
    """The best rows of n queries: rows and scores [n, k], best first, and how many; rows verified and pairs counted again."""

    rows: Ints
    scores: Floats
    found: Ints
    verified: int
    recounted: int


class Asked(NamedTuple):
    """Some queries: their trigrams, least scores and rows that are good, as ``searching.search`` has them."""

    codes: Codes
    offsets: Ints
    floors: Floats
    seeds: Ints
    seed_offsets: Ints

    def part(self, begin: int, end: int) -> Asked:
        """Those from ``begin`` to before ``end``."""
        offsets, seed_offsets = self.offsets[begin : end + 1], self.seed_offsets[begin : end + 1]
        return Asked(
            self.codes[offsets[0] : offsets[-1]], offsets - offsets[0], self.floors[begin:end],
            self.seeds[seed_offsets[0] : seed_offsets[-1]], seed_offsets - seed_offsets[0],
        )  # fmt: skip


class Batch:
    """Queries that are searched at once. ``least``: the least score of each that still counts, as far as is known."""

    def __init__(self, segment: DeviceSegment, asked: Asked, k: int) -> None:
        self._segment, self._asked = segment, asked
        self._queries = len(asked.floors)
        self._sizes = np.diff(asked.offsets).astype(np.int32)
        self._wanted = sent(self._sizes)
        self.least: Final = asked.floors.copy()
        self._rows = np.full((self._queries, k), -1, np.int64)
        self._scores, self._found = np.zeros((self._queries, k)), np.zeros(self._queries, np.int64)
        self._verified = 0

    def search(self) -> Found | None:
        """The best of each query; None when there was no room for all rows that have to be verified."""
        segment = self._segment
        codes, offsets = sent(self._asked.codes), sent(self._asked.offsets)
        kernels.sets_of[self._queries, kernels.THREADS](codes, offsets, segment.present)
        self._verify_seeds()
        self._count()
        # Those that there is no room for are found again below.
        self._verify(min(segment.room, self._near(self._pairs_to_try(), 1)))
        pairs = self._pairs_that_reach()
        near = self._near(pairs, 64)
        if near > segment.room:
            return None
        self._verify(near)
        return Found(self._rows, self._scores, self._found, self._verified, pairs)

    def _verify_seeds(self) -> None:
        segment, seeds = self._segment, self._asked.seeds.astype(np.int32)
        queries = np.repeat(np.arange(self._queries, dtype=np.int32), np.diff(self._asked.seed_offsets))
        for begin in range(0, len(seeds), segment.room):
            size = min(len(seeds) - begin, segment.room)
            segment.near[0][:size].copy_to_device(queries[begin : begin + size])
            segment.near[1][:size].copy_to_device(seeds[begin : begin + size])
            self._verify(size)

    def _count(self) -> None:
        """Puts into ``segment.greatest`` the greatest count of each query and block."""
        segment = self._segment
        plan = planned(segment.layout, self._asked.codes, self._asked.offsets, self.least)
        self._places, self._numbers, self._credits = (sent(array) for array in plan)
        self._greatest = segment.greatest(self._queries)
        groups = -(-self._queries // kernels.WARPS)
        kernels.greatest_counts[segment.blocks * groups, (kernels.LANES, kernels.WARPS)](
            segment.bits, segment.stride, segment.sizes, self._places, self._numbers, self._wanted, sent(self.least),
            self._queries, self._greatest,
        )  # fmt: skip

    def _pairs_to_try(self) -> int:
        segment = self._segment
        shares = min(kernels.SHARES, segment.blocks)
        pairs = shares * self._queries
        kernels.pairs_to_try[-(-pairs // kernels.THREADS), kernels.THREADS](
            self._greatest, segment.sizes, self._wanted, self._credits, self._queries, segment.blocks, shares,
            segment.pairs, segment.asked,
        )  # fmt: skip
        return pairs

    def _pairs_that_reach(self) -> int:
        segment = self._segment
        self._set_to_zero(kernels.PAIRS)
        kernels.pairs_that_reach[-(-segment.blocks * self._queries // kernels.THREADS), kernels.THREADS](
            self._greatest, segment.sizes, self._numbers, self._wanted, self._credits, sent(self.least), self._queries,
            segment.blocks, segment.pairs, segment.asked, segment.counters,
        )  # fmt: skip
        return self._counter(kernels.PAIRS)

    def _near(self, pairs: int, most: int) -> int:
        """Puts the rows of the first pairs that have the count asked for into ``segment.near``; how many there are."""
        segment = self._segment
        self._set_to_zero(kernels.NEAR)
        if pairs:
            kernels.rows_of_pairs[-(-pairs // kernels.WARPS), (kernels.LANES, kernels.WARPS)](
                segment.bits, segment.stride, segment.texts, self._places, self._numbers, self._queries, segment.pairs,
                segment.asked, pairs, most, segment.near, segment.counters,
            )  # fmt: skip
        return self._counter(kernels.NEAR)

    def _verify(self, size: int) -> None:
        """Counts the overlaps of the first rows of ``segment.near``, and puts them among the best."""
        if not size:
            return
        segment = self._segment
        self._set_to_zero(kernels.HITS)
        kernels.hits_of_rows[-(-size // kernels.VERIFIED), (kernels.PARTS, kernels.VERIFIED)](
            segment.codes, segment.offsets, segment.sizes, segment.alive, segment.present, self._wanted, sent(self.least),
            segment.near, size, segment.hits, segment.counters,
        )  # fmt: skip
        self._verified += size
        if hits := self._counter(kernels.HITS):
            queries, rows, overlaps = (segment.hits[at][:hits].copy_to_host() for at in range(3))
            _collect(
                queries, rows, overlaps, self._sizes, segment.layout.sizes, segment.ranks, self._rows, self._scores,
                self._found, self.least,
            )  # fmt: skip

    def _counter(self, number: int) -> int:
        return int(self._segment.counters.copy_to_host()[number])

    def _set_to_zero(self, number: int) -> None:
        self._segment.counters[number : number + 1].copy_to_device(np.zeros(1, np.int64))


def joined(parts: Sequence[Found], k: int) -> Found:
    """What was found for some queries, and then for others."""
    if not parts:
        return Found(np.empty((0, k), np.int64), np.empty((0, k)), np.empty(0, np.int64), 0, 0)
    rows, scores, found = (np.concatenate([part[at] for part in parts]) for at in range(3))
    return Found(rows, scores, found, sum(part.verified for part in parts), sum(part.recounted for part in parts))


def sent(array: npt.NDArray[Any]) -> Any:
    """A copy on the current device; of an empty array one element, as a device has no place for nothing."""
    return cuda.to_device(np.ascontiguousarray(array) if array.size else np.zeros((1,) * array.ndim, array.dtype))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _collect(
    queries: Numbers, near: Numbers, overlaps: Numbers, wanted: Numbers, sizes: Sizes, ranks: Ranks, rows: Ints,
    scores: Floats, found: Ints, least: Floats,
) -> None:  # fmt: skip
    """Puts hits among the best of their queries, and makes the k-th best the least that counts."""
    k = rows.shape[1]
    for at in range(len(queries)):
        query, row = queries[at], np.int64(near[at])
        value = score(np.int64(overlaps[at]), np.int64(wanted[query]), np.int64(sizes[row]))
        if value >= least[query]:
            found[query] = insert(rows[query], scores[query], found[query], row, value, ranks)
            if found[query] == k:
                least[query] = max(least[query], scores[query, k - 1])


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def planned(layout: Layout, codes: Codes, offsets: Ints, least: Floats) -> tuple[Numbers, Numbers, Numbers]:
    """The bitmaps to count for each query: where each begins in a block [queries, width], how many, and the credit for others.

    All that a query has, or the rarest if they tell texts of the sizes that may reach the least score from others, as in
    ``searching``. Numbers are whole ``ROWS``, filled up with the empty bitmap.
    """
    queries, longest = len(offsets) - 1, 0
    for query in range(queries):
        longest = max(longest, offsets[query + 1] - offsets[query])
    mean = max(1.0, len(layout.codes) / len(layout.sizes))
    width = -(-max(1, min(longest, _COUNTED)) // ROWS) * ROWS
    places = np.full((queries, width), len(layout.shares) * WORDS, np.int32)
    numbers, credits_ = np.zeros(queries, np.int32), np.zeros(queries, np.int32)
    bitmaps, chances = np.empty(longest + ROWS, np.int32), np.zeros(longest // ROWS + 2, np.float64)
    none = np.empty(0, np.int64)  # of the lists: they are not counted here
    for query in range(queries):
        a, t = offsets[query + 1] - offsets[query], min(1.0, least[query])
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
