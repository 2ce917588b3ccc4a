"""Memory of the processes of a campaign."""

from __future__ import annotations

import ctypes
import gc
import statistics
from contextlib import suppress
from typing import Final

import psutil

#: Share of the samples, at the beginning, that is warm-up: caches of patterns, of pydantic, of lxml's names.
WARM_UP: Final = 0.2


def resident() -> int:
    """Return the RSS in bytes, after garbage collection and the return of the heap's free end to the system."""
    gc.collect()
    with suppress(AttributeError, OSError):  # without glibc
        ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


def growth(memory: list[tuple[int, int, int]]) -> dict[int, int]:
    """Return the growth of each process in bytes: median of the last quarter of samples minus that of the first one.

    Samples of the warm-up do not count.
    """
    grown: dict[int, int] = {}
    for job in {owner for owner, _, _ in memory}:
        sizes = [size for owner, _, size in sorted(memory) if owner == job]
        sizes = sizes[int(len(sizes) * WARM_UP) :]
        quarter = max(len(sizes) // 4, 1)
        if len(sizes) > 1:
            grown[job] = int(statistics.median(sizes[-quarter:]) - statistics.median(sizes[:quarter]))
    return grown
