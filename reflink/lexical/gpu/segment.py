"""A segment on an NVIDIA GPU, and its exact search there: the same results as ``searching.search``, bit for bit.

``device`` has the GPU, ``arrays`` the arrays on it, ``batches`` the steps of a search and ``kernels.cu`` the kernels. CuPy is
imported when a segment is placed on a GPU.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final

import numpy as np

from reflink.lexical.gpu.arrays import DeviceArrays
from reflink.lexical.gpu.batches import Batch, Found, joined
from reflink.lexical.gpu.device import CudaDevice, Device
from reflink.lexical.layout import Layout, Mask, Ranks
from reflink.lexical.queries import Queries

#: Max queries of a batch. A larger batch spends less time per query on launches.
BATCH: Final = 4096


class DeviceSegment(DeviceArrays):
    """A segment that is searched on a device, up to ``batch`` queries at once.

    ``device``: the name of a GPU, ``cuda`` or ``cuda:1``, or an opened device. ``options``: ``room`` and ``reserved`` of
    DeviceArrays. Concurrent searches are serialised. Raises as CudaDevice and DeviceArrays do.
    """

    def __init__(
        self, layout: Layout, ranks: Ranks, *, batch: int = BATCH, device: str | Device = "cuda", **options: Any
    ) -> None:
        super().__init__(CudaDevice(device) if isinstance(device, str) else device, layout, ranks, batch=batch, **options)
        self._lock = Lock()
        self._known: Mask | None = None

    def search(self, alive: Mask, queries: Queries, k: int) -> Found:
        """Return the k best rows of each query, by score and rank, as ``searching.search``.

        ``alive`` is copied to the device only if it is another object than in the last search, so a changed mask must be a new
        array. After the last row found for a query, rows are -1 and scores 0.
        """
        queries = queries._replace(floors=np.maximum(queries.floors, 0.0))
        with self._lock, self.device.active():
            if alive is not self._known:
                self.device.write(alive, self.alive)
                self._known = alive
            count = len(queries.floors)
            firsts = range(0, count, self.batch)
            parts = [self._search(queries.part(first, min(count, first + self.batch)), k) for first in firsts]
        return joined(parts, k)

    def _search(self, queries: Queries, k: int) -> Found:
        batch = Batch(self, queries, k)
        if (found := batch.search()) is not None:
            return found
        # There was no room for all rows. The bounds reached so far are the floors of the halves.
        count, queries = len(queries.floors), queries._replace(floors=batch.bounds)
        return joined([self._search(queries.part(*each), k) for each in ((0, count // 2), (count // 2, count))], k)
