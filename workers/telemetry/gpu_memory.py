"""The metrics of GPU memory, to which each stage of a process adds what it has allocated."""

from __future__ import annotations

from typing import Final

from workers.telemetry import metrics

_ALLOCATED: Final[dict[str, int]] = {}


def show(stage: str, allocated: int, total: int) -> None:
    """Set the bytes that this stage has allocated, and the memory of all GPUs."""
    _ALLOCATED[stage] = allocated
    metrics.GPU_MEMORY_BYTES.set(sum(_ALLOCATED.values()))
    metrics.GPU_MEMORY_TOTAL_BYTES.set(total)
