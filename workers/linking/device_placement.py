"""Placement of the vector search: on a GPU, by default that of the encoder, or on the CPU."""

from __future__ import annotations

import logging
from typing import Final

import torch

from reflink.errors import DeviceMissing, DeviceTooSmall
from reflink.semantic import VectorIndex
from reflink.semantic.encoder.precision import choose_device
from reflink.semantic.gpu.rows import needed_bytes
from workers.config.settings import SearchSettings
from workers.errors import BadSettings, DeviceFull

#: Bytes of a GPU for CUDA and the encoder.
ENCODER: Final = 4 << 30

log = logging.getLogger(__name__)


def chosen_device(settings: SearchSettings, encoder_device: str) -> str | None:
    """Return the GPU to search on, or None for the CPU. Raises BadSettings if the configured GPU does not exist."""
    device = encoder_device if settings.search_device == "auto" else settings.search_device
    if not device.startswith("cuda"):
        return None
    try:
        return choose_device(device)
    except DeviceMissing as error:
        raise BadSettings(f"REFLINK_SEARCH_DEVICE: {error}") from None


def still_needed(works: int, settings: SearchSettings) -> float:
    """Return the bytes that encoder and search of a linker with this number of works may still allocate on their GPU.

    Memory that torch has allocated and keeps for later counts as theirs.
    """
    gpu = "cuda" if settings.search_device == "auto" else settings.search_device
    search = needed_bytes(works + settings.search_spare, 0)[1]
    return max(0.0, ENCODER + search - torch.cuda.memory_reserved(gpu) + torch.cuda.memory_allocated(gpu))


def place(vectors: VectorIndex, device: str | None, settings: SearchSettings) -> None:
    """Move the vectors to this torch device, None for the CPU, where all further searches run.

    Vectors that do not fit stay in host memory and are sent to the device for each search, if the settings allow it. Raises
    DeviceFull if they do not.
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
