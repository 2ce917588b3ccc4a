"""A segment on an NVIDIA GPU, and its exact search there: the same results as ``searching.search``, bit for bit.

``arrays`` has the arrays on the device, ``batches`` the steps of a search and ``kernels`` the kernels. They
import ``numba.cuda``; no other module of reflink imports them before a search on a GPU is requested.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

import numpy as np

from reflink.lexical.gpu.arrays import DeviceArrays
from reflink.lexical.gpu.batches import Batch, Found, joined
from reflink.lexical.layout import Layout, Mask, Ranks
from reflink.lexical.queries import Queries

#: Max queries of a batch. A larger batch spends less time per query on launches and on the host.
BATCH: Final = 4096


class DeviceSegment(DeviceArrays):
    """A segment that is searched on the current CUDA device, up to ``batch`` queries at once.

    Concurrent searches are serialised. Raises as DeviceArrays does.
    """

    def __init__(self, layout: Layout, ranks: Ranks, *, batch: int = BATCH) -> None:
        super().__init__(layout, ranks, batch=batch)
        self._lock = Lock()
        self._known: Mask | None = None

    def search(self, alive: Mask, queries: Queries, k: int) -> Found:
        """Return the k best rows of each query, by score and rank, as ``searching.search``.

        ``alive`` is copied to the device only if it is another object than in the last search, so a changed mask must be a new
        array. After the last row found for a query, rows are -1 and scores 0.
        """
        queries = queries._replace(floors=np.maximum(queries.floors, 0.0))
        with self._lock:
            if alive is not self._known:
                self.alive.copy_to_device(np.ascontiguousarray(alive))
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
        count, queries = len(queries.floors), queries._replace(floors=batch.best.bounds)
        return joined([self._search(queries.part(*each), k) for each in ((0, count // 2), (count // 2, count))], k)
