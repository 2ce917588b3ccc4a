"""Where the linker searches: on the device that the encoder is on, or on the processor's cores."""

from __future__ import annotations

import logging

import torch

from reflink.errors import DeviceMissing, DeviceTooSmall
from reflink.semantic import VectorIndex
from reflink.semantic.precision import choose_device
from workers.errors import BadSettings, DeviceFull
from workers.settings import LinkerSettings

log = logging.getLogger(__name__)


def chosen_device(settings: LinkerSettings, encoder_device: str) -> str | None:
    """The GPU to search on, None for the processor. Raises BadSettings when the one that was asked for is not there."""
    device = encoder_device if settings.search_device == "auto" else settings.search_device
    if not device.startswith("cuda"):
        return None
    try:
        return choose_device(device)
    except DeviceMissing as error:
        raise BadSettings(f"REFLINK_SEARCH_DEVICE: {error}") from None


def place(vectors: VectorIndex, device: str | None, settings: LinkerSettings) -> None:
    """Searches run on this torch device from now on, None for the processor.

    Vectors that do not fit are searched from host memory where the settings allow it. Raises DeviceFull where they do not.
    """
    vectors.threads = settings.search_threads or torch.get_num_threads()
    try:
        resident = vectors.place(device, spare=settings.search_spare, stream=settings.search_stream)
    except DeviceTooSmall as error:
        raise DeviceFull(
            f"the {len(vectors)} vectors of the catalog do not fit: {error}; REFLINK_SEARCH_STREAM=true searches from host "
            "memory, REFLINK_SEARCH_DEVICE=cpu on the processor, and a smaller REFLINK_SEARCH_SPARE needs less"
        ) from None
    where = device or "cpu"
    if device is not None and not resident:
        log.warning("the vectors do not fit: searched from host memory", extra={"device": where, "works": len(vectors)})
    log.info("vectors placed", extra={"device": where, "resident": resident, "threads": vectors.threads})
