"""A segment on an NVIDIA GPU, and its exact search there: the results of ``searching.search``, bit for bit.

The device holds the bitmaps and the trigrams of the rows, and what a batch of queries needs; ``devicebatches`` has the steps of
a search and ``devicekernels`` the kernels. ``numba.cuda`` is imported with this module, and nothing else of reflink imports it
before it is asked to search on a GPU.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final

import numpy as np
from numba import cuda

from reflink.errors import DeviceTooSmall
from reflink.lexical import devicekernels as kernels
from reflink.lexical.devicebatches import Asked, Batch, Found, joined, sent
from reflink.lexical.layout import BLOCK, WORDS, Codes, Floats, Ints, Layout, Mask, Ranks

#: Queries that are searched at once, at most: the more, the less each waits for launches and for the host.
BATCH: Final = 4096
#: Rows of a query that there is room for, on average over a batch; one that has more is searched in halves.
ROOM: Final = 512


class DeviceSegment:
    """The arrays of a layout on the current CUDA device, and what a search of ``batch`` queries at once needs.

    ``ranks`` resolve equal scores. Searches of several threads wait for each other. Raises ValueError for a layout without
    bitmaps, DeviceTooSmall when the device's free memory does not hold all this.
    """

    def __init__(self, layout: Layout, ranks: Ranks, *, batch: int = BATCH) -> None:
        self.texts: Final = len(layout.sizes)
        if not len(layout.shares):
            raise ValueError(f"a segment of {self.texts:,} texts has no bitmaps: search it on the CPU")
        self.layout: Final = layout
        self.ranks: Final = ranks
        self.blocks: Final = -(-self.texts // BLOCK)
        #: Words of all bitmaps of a block.
        self.stride: Final = (len(layout.shares) + 1) * WORDS
        # One query can have every row: where halves end, there is room for it.
        self.room: Final = max(batch * ROOM, self.blocks * BLOCK)
        self._batch, self._lock = batch, Lock()
        kept = (layout.bits, layout.codes, layout.offsets, layout.sizes)
        pairs = batch * self.blocks
        arrays = sum(array.nbytes for array in kept) + self.texts
        # Sets, bitmaps to count, greatest counts; pairs with what they ask for; rows near and hits.
        work = batch * (kernels.SET * 4 + kernels.COUNTED * 4 + self.blocks * 2) + pairs * 12 + self.room * 20
        #: Bytes on the device.
        self.nbytes: Final = arrays + work
        free = free_bytes()
        if self.nbytes > free:
            raise DeviceTooSmall(
                f"the CUDA device has {free / 2**30:.2f} GiB free: {self.texts:,} texts need {arrays / 2**30:.2f} GiB, and a "
                f"search of {batch:,} queries at once {work / 2**30:.2f} GiB; use a larger device, a smaller batch, share the "
                "texts among several, or search on the CPU"
            )
        self.bits, self.codes, self.offsets, self.sizes = (sent(array) for array in kept)
        self.alive = cuda.device_array(self.texts, np.bool_)
        self._known: Mask | None = None
        self.present = cuda.device_array((batch, kernels.SET), np.uint32)
        self._greatest = cuda.device_array(batch * self.blocks, np.uint16)
        self.pairs, self.asked = cuda.device_array(pairs, np.int64), cuda.device_array(pairs, np.int32)
        self.near, self.hits = (cuda.device_array((number, self.room), np.int32) for number in (2, 3))
        self.counters = sent(np.zeros(3, np.int64))

    def greatest(self, queries: int) -> Any:
        """Where the greatest counts of so many queries are kept: [blocks, queries]."""
        return self._greatest[: self.blocks * queries].reshape(self.blocks, queries)

    def search(
        self, alive: Mask, codes: Codes, query_offsets: Ints, k: int, floors: Floats, seeds: Ints, seed_offsets: Ints
    ) -> Found:
        """The k best rows of each query, by score and rank; arguments as those of ``searching.search``.

        ``alive`` is sent when it is another array than at the last search, so one that has changed must be a new one. Behind
        those found of a query, rows are -1 and scores 0.
        """
        asked = Asked(codes, query_offsets, np.maximum(floors, 0.0), seeds, seed_offsets)
        with self._lock:
            if alive is not self._known:
                self.alive.copy_to_device(np.ascontiguousarray(alive))
                self._known = alive
            firsts = range(0, len(floors), self._batch)
            parts = [self._search(asked.part(first, min(len(floors), first + self._batch)), k) for first in firsts]
        return joined(parts, k)

    def _search(self, asked: Asked, k: int) -> Found:
        batch = Batch(self, asked, k)
        if (found := batch.search()) is not None:
            return found
        # There was no room for all rows. What was found so far gives floors: the best are not below them.
        half, asked = len(asked.floors) // 2, asked._replace(floors=batch.least)
        return joined([self._search(asked.part(*each), k) for each in ((0, half), (half, len(asked.floors)))], k)


def free_bytes() -> float:
    """What can still be allocated on the current CUDA device; the simulator has no bound."""
    context = cuda.current_context()
    if hasattr(context, "memory_manager"):
        # Arrays that nobody holds any more, but numba still does.
        context.memory_manager.deallocations.clear()
    return float(context.get_memory_info().free)
