"""The steps of a search on a GPU. A batch of n queries goes through each step together, and the host waits only at the end.

1. Verify the seeds: count their overlap in their own trigrams. Seeds and floors give a first bound t for each query; a row
   with a score below t is not among the best.
2. Choose the bitmaps of each query. Count them in every block of 2,048 rows whose sizes can reach t, and keep the greatest
   count of the block, two bytes per block and query.
3. Verify rows with the greatest count in up to 32 blocks per query. This raises t to the k-th best score found.
4. Count again the blocks whose greatest count reaches the count needed for t, and verify their rows with that count. These
   include all rows that reach t, also those of the steps before; the k best of them are the result.

Invariant, as in ``searching``: a bitmap that is not counted is credited to every row, so count plus credit is never below the
overlap, and step 4 misses no row that reaches t. The blocks tried in step 3 and the number of bitmaps counted affect the time
and not the result.

Cost: step 2 is nearly all of the work. It reads 256 bytes per bitmap and block, so 66 MB for a query of 100 trigrams over 5.27
million rows, mostly from the caches: all queries of a batch visit a block before the next one, so the bitmaps of all blocks are
read from memory once per batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from reflink.lexical.gpu import kernels
from reflink.lexical.gpu.arrays import DeviceArrays
from reflink.lexical.gpu.device import sent
from reflink.lexical.layout import Floats, Ints
from reflink.lexical.queries import Queries

_BLOCK: Final = (kernels.THREADS, 1)
_WARPS: Final = (kernels.LANES, kernels.WARPS)


class Found(NamedTuple):
    """The best rows of n queries: rows and scores [n, k], best first; number found [n]; rows verified; pairs counted again."""

    rows: Ints
    scores: Floats
    found: Ints
    verified: int
    recounted: int


class Batch:
    """Queries that are searched at once, on the active device. ``bounds`` after the search: the min score of a result."""

    def __init__(self, segment: DeviceArrays, queries: Queries, k: int) -> None:
        self._segment, self._queries, self._k = segment, queries, k
        self._number: Final = len(queries.floors)
        device, empty = segment.device, segment.device.xp.empty
        self._codes, self._ends = sent(device, queries.codes), sent(device, queries.offsets)
        self._bounds = sent(device, queries.floors)
        self._best = empty((self._number, k), np.int64), empty((self._number, k), np.float64), empty(self._number, np.int64)
        self.bounds = queries.floors
        # Thread blocks of a kernel that learns on the device how much work there is.
        self._width: Final = kernels.WIDTH * device.processors

    def search(self) -> Found | None:
        """Return the best rows of each query; None if there was no room for all rows to verify."""
        segment, number, work, queries = self._segment, self._number, self._segment.work, self._queries
        launch, counters = segment.device.launch, work["counters"]
        launch("begin", number, _BLOCK, self._codes, self._ends, work["present"], work["heads"], counters)
        self._verify_seeds()
        launch(
            "plans", number, _BLOCK, self._codes, self._ends, self._bounds, segment.bitmap_of, segment.shares,
            *self._plan(), work["credits"], segment.padding, segment.mean,
        )  # fmt: skip
        self._count()
        self._pairs_to_try()
        # Rows for which there is no room here are found again below.
        self._near(kernels.TRIED, kernels.NEAR_TRIED, 1)
        self._verify(work["near"], counters[kernels.NEAR_TRIED :])
        self._pairs_that_reach()
        self._near(kernels.REACHING, kernels.NEAR, 64)
        self._verify(work["near"], counters[kernels.NEAR :])
        rows, scores, found, self.bounds, counts = segment.device.received(*self._best, self._bounds, counters)
        if counts[kernels.NEAR] > segment.room:
            return None
        verified = len(queries.seeds) + min(int(counts[kernels.NEAR_TRIED]), segment.room) + int(counts[kernels.NEAR])
        return Found(rows, scores, found, verified, int(counts[kernels.REACHING]))

    def _verify_seeds(self) -> None:
        device, room = self._segment.device, self._segment.room
        seeds, offsets = self._queries.seeds, self._queries.seed_offsets
        near = np.stack([np.repeat(np.arange(self._number), np.diff(offsets)), seeds]).astype(np.int32)
        for begin in range(0, len(seeds), room):
            part = sent(device, near[:, begin : begin + room])
            self._verify(part, sent(device, np.array([part.shape[1]])))

    def _plan(self) -> tuple[Any, Any]:
        return self._segment.work["places"], self._segment.work["numbers"]

    def _count(self) -> None:
        """Write the greatest count of each block and query."""
        segment = self._segment
        group = min(kernels.GROUP, -(-self._number // kernels.GROUPS))
        segment.device.launch(
            "greatest_counts", segment.device.processors, (kernels.LANES, kernels.COUNTING), segment.bits, segment.stride,
            segment.sizes, segment.texts, *self._plan(), self._ends, self._bounds, self._number, segment.blocks, group,
            segment.work["greatest"],
        )  # fmt: skip

    def _pairs_to_try(self) -> None:
        segment, work = self._segment, self._segment.work
        shares = min(kernels.SHARES, segment.blocks)
        segment.device.launch(
            "pairs_to_try", -(-shares * self._number // kernels.THREADS), _BLOCK, work["greatest"], segment.sizes,
            segment.texts, self._ends, work["credits"], self._number, segment.blocks, shares, work["pairs"], work["required"],
            work["counters"][kernels.TRIED :],
        )  # fmt: skip

    def _pairs_that_reach(self) -> None:
        segment, work = self._segment, self._segment.work
        segment.device.launch(
            "pairs_that_reach", -(-segment.blocks * self._number // kernels.THREADS), _BLOCK, work["greatest"], segment.sizes,
            segment.texts, work["numbers"], self._ends, work["credits"], self._bounds, self._number, segment.blocks,
            work["pairs"], work["required"], work["counters"][kernels.REACHING :],
        )  # fmt: skip

    def _near(self, pairs: int, found: int, limit: int) -> None:
        """Write the rows of the pairs that have the count needed; ``pairs`` and ``found`` are counters."""
        segment, work = self._segment, self._segment.work
        segment.device.launch(
            "rows_of_pairs", self._width, _WARPS, segment.bits, segment.stride, segment.texts, *self._plan(),
            self._number, work["pairs"], work["required"], work["counters"][pairs:], limit, work["near"], segment.room,
            work["counters"][found:],
        )  # fmt: skip

    def _verify(self, near: Any, size: Any) -> None:
        """Verify the first ``size`` rows of ``near``, take the best of them, and raise the bounds."""
        segment, work, number = self._segment, self._segment.work, self._number
        hits, room = (work["scores"], work["row_ranks"]), near.shape[1]
        segment.device.launch(
            "hits_of_rows", self._width, _BLOCK, segment.codes, segment.offsets, segment.sizes, segment.ranks,
            segment.alive, work["present"], self._ends, self._bounds, near, room, size, *hits, work["next"], work["heads"],
        )  # fmt: skip
        segment.device.launch(
            "best_of_hits", -(-number // kernels.WARPS), _WARPS, work["heads"], work["next"], *hits, near, room, number,
            self._k, self._bounds, *self._best,
        )  # fmt: skip


def joined(parts: Sequence[Found], k: int) -> Found:
    """Concatenate the results of consecutive groups of queries."""
    if not parts:
        return Found(np.empty((0, k), np.int64), np.empty((0, k)), np.empty(0, np.int64), 0, 0)
    rows, scores, found = (np.concatenate([part[at] for part in parts]) for at in range(3))
    return Found(rows, scores, found, sum(part.verified for part in parts), sum(part.recounted for part in parts))
