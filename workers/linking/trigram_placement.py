"""Placement of the trigram search: on a GPU, where there is one, or on the CPU."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from reflink.errors import DeviceMissing, DeviceTooSmall, PackageMissing
from reflink.lexical import LexicalIndex
from workers.config.settings import SearchSettings
from workers.errors import BadSettings, DeviceFull
from workers.linking.device_failures import lacks_memory, raise_if_failed
from workers.telemetry import gpu_memory, metrics

if TYPE_CHECKING:
    from reflink.lexical.gpu.device import Device

log = logging.getLogger(__name__)

T = TypeVar("T")


def chosen_device(settings: SearchSettings) -> Device | None:
    """Return the GPU to search on, or None for the CPU. Raises BadSettings if the configured GPU cannot be used."""
    wanted = settings.search_device
    if wanted == "cpu":
        return None
    from reflink.lexical.gpu import device

    try:
        return device.CudaDevice("cuda" if wanted == "auto" else wanted)
    except (DeviceMissing, PackageMissing) as error:
        if wanted == "auto":
            log.info("trigrams are searched on the CPU", extra={"reason": str(error)})
            return None
        raise BadSettings(f"REFLINK_SEARCH_DEVICE: {error}") from None


class TrigramPlacement:
    """Keeps the large segments of a fallback's trigrams on ``device``, None for the CPU. ``options``: of LexicalIndex.place."""

    def __init__(self, device: Device | None, **options: Any) -> None:
        self.device, self._options = device, options
        #: Whether the last ``show`` found texts for which the device has no room.
        self._refused = False

    def place(self, trigrams: LexicalIndex) -> None:
        """Move the large segments to the device. Raises DeviceFull if they do not fit."""
        if self.device is not None:
            _return_memory_of_torch()
        try:
            trigrams.place(self.device, **self._options)
        except (DeviceTooSmall, MemoryError) as error:
            raise DeviceFull(
                f"the trigrams of the catalog, {len(trigrams)} texts, do not fit: {error}; REFLINK_SEARCH_DEVICE=cpu searches "
                "on the processor"
            ) from None
        where = "cpu" if self.device is None else "cuda"
        log.info("trigrams placed", extra={"device": where, "texts": trigrams.placed().texts})

    def show(self, trigrams: LexicalIndex) -> None:
        """Set the metrics of the device, and log a warning when segments no longer fit."""
        if self.device is None:
            return
        placed = trigrams.placed()
        gpu_memory.show("fallback", placed.nbytes, self.device.total_bytes())
        metrics.TRIGRAMS_ON_GPU.set(placed.texts)
        metrics.TRIGRAMS_REFUSED.set(placed.refused)
        if placed.refused and not self._refused:
            log.warning("new trigrams do not fit the device: searched on the CPU", extra={"texts": placed.refused})
        self._refused = placed.refused > 0

    def searched(self, search: Callable[[], T]) -> T:
        """Return the result of ``search``. Raises DeviceFull if the device has no memory for it, DeviceFailed if it has failed.

        A search allocates little. In a process with a linker PyTorch may keep the rest of the memory for later: it is returned,
        and the search repeated.
        """
        try:
            return search()
        except (MemoryError, RuntimeError) as error:
            raise_if_failed(error)
            if self.device is None or not lacks_memory(error):
                raise
            _return_memory_of_torch()
        try:
            return search()
        except (MemoryError, RuntimeError) as error:
            raise_if_failed(error)
            if not lacks_memory(error):
                raise
            reason = " ".join(str(error).split())[:300]
            raise DeviceFull(f"no memory for a search: {reason}; no data is lost: stop other programs on the GPU") from None


def _return_memory_of_torch() -> None:
    if "torch" in sys.modules:
        import torch

        torch.cuda.empty_cache()
