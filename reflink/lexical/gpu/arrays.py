"""The arrays of a segment on a device: bitmaps and trigrams of its rows, and work arrays for a batch of queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from reflink.errors import DeviceTooSmall
from reflink.lexical.gpu.device import Device, sent
from reflink.lexical.gpu.kernels import COUNTED, COUNTERS, LANES, SET
from reflink.lexical.layout import BLOCK, WORDS, Layout, Ranks

#: Room for rows to verify per query, on average over a batch. A batch that needs more is searched in halves.
ROOM: Final = 512


class DeviceArrays:
    """The arrays of a layout on a device, and the work arrays for ``batch`` queries at once.

    Equal scores are ordered by ``ranks``, which differ. ``reserved`` returns the free bytes to leave to other users of the
    device. Raises ValueError for a layout without bitmaps, DeviceTooSmall if all this does not fit the device's free memory.
    """

    def __init__(
        self,
        device: Device,
        layout: Layout,
        ranks: Ranks,
        *,
        batch: int,
        room: int | None = None,
        reserved: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.device: Final = device
        self.texts: Final = len(layout.sizes)
        if not len(layout.shares):
            raise ValueError(f"a segment of {self.texts:,} texts has no bitmaps: search it on the CPU")
        self.blocks: Final = -(-self.texts // BLOCK)
        #: Words of all bitmaps in a block; the last bitmap is empty.
        self.stride: Final = (len(layout.shares) + 1) * WORDS
        self.padding: Final = self.stride - WORDS
        #: Trigrams of a row.
        self.mean: Final = max(1.0, len(layout.codes) / self.texts)
        # A single query can have every row: halving ends there, so it needs room for all of them.
        self.room: Final = room or max(batch * ROOM, self.blocks * BLOCK)
        self.batch: Final = batch
        # By trigram: the share of rows in its bitmap.
        shares = np.where(layout.bitmap_of >= 0, layout.shares[layout.bitmap_of], np.float32(-1.0))
        kept = (layout.bits, layout.codes, layout.offsets, layout.sizes, ranks, layout.bitmap_of, shares)
        pairs, hits = batch * self.blocks, self.room
        working: dict[str, tuple[tuple[int, ...], type]] = {
            "present": ((batch, SET), np.uint32),
            "places": ((batch, COUNTED), np.int32), "numbers": ((batch,), np.int32), "credits": ((batch,), np.int32),
            "greatest": ((pairs,), np.uint16), "pairs": ((pairs,), np.int64), "required": ((pairs,), np.int32),
            "near": ((2, self.room), np.int32),
            "scores": ((hits,), np.float64), "row_ranks": ((hits,), np.uint32), "next": ((hits,), np.int32),
            "heads": ((batch, LANES), np.int32), "counters": ((COUNTERS,), np.int64),
        }  # fmt: skip
        arrays = sum(array.nbytes for array in kept) + self.texts
        work = sum(int(np.prod(shape)) * np.dtype(type_).itemsize for shape, type_ in working.values())
        #: Bytes on the device.
        self.nbytes: Final = arrays + work
        with device.active():
            others = reserved()
            free = device.free_bytes() - others
            if self.nbytes > free:
                beside = f" beside {others / 2**30:.2f} GiB reserved" if others else ""
                raise DeviceTooSmall(
                    f"the device has {max(free, 0) / 2**30:.2f} GiB free{beside}: {self.texts:,} texts need "
                    f"{arrays / 2**30:.2f} GiB, and a search of {batch:,} queries at once {work / 2**30:.2f} GiB; use a larger "
                    "device, a smaller batch, share the texts among several, or search on the CPU"
                )
            self.bits, self.codes, self.offsets, self.sizes, self.ranks, self.bitmap_of, self.shares = (
                sent(device, array) for array in kept
            )
            self.alive: Final = device.xp.empty(self.texts, np.bool_)
            #: Work arrays by name.
            self.work: Final = {name: device.xp.empty(*each) for name, each in working.items()}
