"""Placement of the trigram search: on a GPU, where there is one, or on the CPU."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from reflink.errors import DeviceMissing, DeviceTooSmall, PackageMissing
from reflink.lexical import LexicalIndex
from workers.config.settings import FallbackSettings
from workers.errors import BadSettings, DeviceFull
from workers.telemetry import gpu_memory, metrics

if TYPE_CHECKING:
    from reflink.lexical.gpu.device import Device

log = logging.getLogger(__name__)


def chosen_device(settings: FallbackSettings) -> Device | None:
    """Return the GPU to search on, or None for the CPU. Raises BadSettings if the configured GPU cannot be used."""
    wanted = settings.search_device
    if wanted == "cpu":
        return None
    from reflink.lexical.gpu import device

    try:
        return device.CudaDevice("cuda" if wanted == "auto" else wanted)
    except (DeviceMissing, PackageMissing) as error:
        if wanted == "auto":
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
        try:
            trigrams.place(self.device, **self._options)
        except DeviceTooSmall as error:
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

    @contextmanager
    def report_full(self) -> Iterator[None]:
        """Convert a failed allocation on the device to DeviceFull. A search allocates little, so others fill the device."""
        try:
            yield
        except MemoryError as error:
            if self.device is None:
                raise
            reason = " ".join(str(error).split())[:300]
            raise DeviceFull(f"no memory for a search: {reason}; no data is lost: stop other programs on the GPU") from None
