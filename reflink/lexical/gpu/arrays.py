"""The arrays of a segment on an NVIDIA GPU: bitmaps and trigrams of its rows, and work arrays for a batch of queries."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import cuda

from reflink.errors import DeviceTooSmall
from reflink.lexical.gpu import kernels
from reflink.lexical.layout import BLOCK, WORDS, Layout, Ranks

#: Room for rows to verify per query, on average over a batch. A batch that needs more is searched in halves.
ROOM: Final = 512


class DeviceArrays:
    """The arrays of a layout on the current CUDA device, and the work arrays for ``batch`` queries at once.

    Equal scores are ordered by ``ranks``. Raises ValueError for a layout without bitmaps, DeviceTooSmall if all this does not
    fit the device's free memory.
    """

    def __init__(self, layout: Layout, ranks: Ranks, *, batch: int) -> None:
        self.texts: Final = len(layout.sizes)
        if not len(layout.shares):
            raise ValueError(f"a segment of {self.texts:,} texts has no bitmaps: search it on the CPU")
        self.layout: Final = layout
        self.ranks: Final = ranks
        self.blocks: Final = -(-self.texts // BLOCK)
        #: Words of all bitmaps in a block.
        self.stride: Final = (len(layout.shares) + 1) * WORDS
        # A single query can have every row: halving ends there, so it needs room for all of them.
        self.room: Final = max(batch * ROOM, self.blocks * BLOCK)
        self.batch: Final = batch
        kept = (layout.bits, layout.codes, layout.offsets, layout.sizes)
        pairs = batch * self.blocks
        arrays = sum(array.nbytes for array in kept) + self.texts
        # Sets, bitmaps to count, greatest counts; pairs and the counts needed; rows to verify and hits.
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
        self.present = cuda.device_array((batch, kernels.SET), np.uint32)
        self._greatest = cuda.device_array(batch * self.blocks, np.uint16)
        self.pairs, self.required = cuda.device_array(pairs, np.int64), cuda.device_array(pairs, np.int32)
        self.near, self.hits = (cuda.device_array((number, self.room), np.int32) for number in (2, 3))
        self.counters = sent(np.zeros(3, np.int64))

    def greatest(self, queries: int) -> Any:
        """Return the array for the greatest counts of this number of queries: uint16 [blocks, queries]."""
        return self._greatest[: self.blocks * queries].reshape(self.blocks, queries)


def sent(array: npt.NDArray[Any]) -> Any:
    """Copy an array to the current device; an empty one becomes one zero, as a device cannot allocate 0 bytes."""
    return cuda.to_device(np.ascontiguousarray(array) if array.size else np.zeros((1,) * array.ndim, array.dtype))


def free_bytes() -> float:
    """Return the bytes that can still be allocated on the current CUDA device; the simulator has no bound."""
    context = cuda.current_context()
    if hasattr(context, "memory_manager"):
        # numba frees unreferenced arrays late; free them now.
        context.memory_manager.deallocations.clear()
    return float(context.get_memory_info().free)
