"""The part of a stage that encodes texts and searches the catalog's vectors, on the GPU if there is one.

The linker has it, or the fallback if trigrams are searched first (``REFLINK_FIRST_SEARCH``).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from reflink.catalog import Catalog
from workers.catalog.follower import CatalogFollower
from workers.catalog.snapshot_opening import open_catalog
from workers.config.settings import SearchSettings
from workers.linking.encoders import load_encoders, report_full_device
from workers.telemetry import gpu_memory, metrics

if TYPE_CHECKING:
    from reflink.semantic import Encoder


class VectorStage:
    """Base of the stages that may search vectors: their encoders, and a catalog with vectors."""

    name: str
    settings: SearchSettings
    catalog: Catalog
    follower: CatalogFollower
    #: The encoder of references.
    encoder: Encoder
    #: The encoder of works if it differs from that of references, else None.
    _of_works: Encoder | None = None
    #: The GPU of the search, None for the CPU.
    _search_device: str | None = None
    #: Number of times the encoders ran out of memory, as already counted in the metrics.
    _halved = 0

    def _warm_vectors(self) -> None:
        """Load the encoders, open the catalog, place its vectors, read the catalog topic to its end, and search once."""
        settings = self.settings
        of_works, self.encoder = load_encoders(settings)
        self._of_works = None if of_works is self.encoder else of_works
        from reflink.semantic.gpu.products import FEW
        from workers.linking import device_placement

        self._search_device = device_placement.chosen_device(settings, self.encoder.device)
        metrics.MODEL_INFO.clear()
        metrics.MODEL_INFO.labels(of_works.name, of_works.precision).set(1)
        empty = Catalog.empty(
            dim=of_works.dim,
            model=of_works.name,
            precision=of_works.precision,
            mode=settings.semantic_mode,
            separator=of_works.separator,
            lexical_mode=None,
        )
        self.catalog = open_catalog(settings, vectors=True, trigrams=False, empty=empty)
        assert self.catalog.vectors is not None
        self.follower = CatalogFollower(settings, self.catalog, of_works, self._make_room)
        with report_full_device("the catalog's vectors and works", smallest=True):
            device_placement.place(self.catalog.vectors, self._search_device, settings)
            self.follower.wait_for(self.follower.start(), settings.call_deadline_s)
            # The first pass through a model and the first searches of few and of many queries are slow: on a GPU they compile
            # kernels and load cuBLAS. They should not delay the first reference.
            queries = self.encoder.encode(["warm"] * (FEW + 1))
            for number in (1, len(queries)):
                self.catalog.vectors.search(queries[:number], 1)

    def _show_memory(self) -> None:
        metrics.ENCODER_TOKEN_BUDGET.set(self.encoder.memory.tokens)
        halved = self.encoder.memory.halved + (0 if self._of_works is None else self._of_works.memory.halved)
        metrics.ENCODER_OUT_OF_MEMORY.inc(halved - self._halved)
        self._halved = halved
        if self.encoder.device.startswith("cuda") or self._search_device is not None:
            import torch

            devices = range(torch.cuda.device_count())
            total = sum(int(torch.cuda.get_device_properties(each).total_memory) for each in devices)
            gpu_memory.show(self.name, sum(map(torch.cuda.memory_allocated, devices)), total)

    def _make_room(self) -> bool:
        """Return memory of merged trigrams to the device, and place the vectors again, in host memory if it is full.

        Return False if no memory was kept and the settings do not allow host memory.
        """
        returned = self._search_device is not None and _return_memory_of_cupy(self._search_device)
        if not self.settings.search_stream or self.catalog.vectors is None:
            return returned
        from workers.linking import device_placement

        device_placement.place(self.catalog.vectors, self._search_device, self.settings)
        return True


def _return_memory_of_cupy(device: str) -> bool:
    """Return what CuPy keeps for later, as a fallback in this process does after a search. Return whether it kept any."""
    if "cupy" not in sys.modules or not device.startswith("cuda"):
        return False
    import cupy

    with cupy.cuda.Device(int(device.partition(":")[2] or 0)):
        pool = cupy.get_default_memory_pool()
        kept = int(pool.free_bytes())
        pool.free_all_blocks()
    return kept > 0


def open_trigrams(settings: SearchSettings) -> Catalog:
    """Open the catalog with its trigrams, which are then searched on the CPU. Raises SnapshotError."""
    empty = Catalog.empty(lexical_mode=settings.lexical_mode)
    catalog = open_catalog(settings, vectors=False, trigrams=True, empty=empty)
    assert catalog.trigrams is not None
    catalog.trigrams.threads = settings.search_threads or len(os.sched_getaffinity(0))
    return catalog
