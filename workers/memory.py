"""Keeping a long-lived process's memory in order: Python's garbage collector, and what the allocator holds back."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Final

#: Containers made, more than freed, before the collector looks for cycles; Python's own 700 suit no process whose batches
#: are tens of thousands of objects.
_THRESHOLD: Final = 20_000
#: Seconds between two returns of memory.
_EVERY_S: Final = 30.0


def settle() -> None:
    """To be called once, when all that a worker keeps is loaded: the collector never looks at that again.

    Otherwise it goes through the modules of torch and the catalog's caches again and again, a third of the time of a
    linker's verdicts (python -m benchmarks.linker).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_THRESHOLD)


class Returning:
    """Gives freed memory back to the system from time to time.

    glibc keeps what it may need again, and batches of many sizes make that grow for hours (python -m tests.chaos.memory).
    """

    def __init__(self, now: float) -> None:
        self._due = now + _EVERY_S
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None

    def at(self, now: float) -> bool:
        """Returns it if it is time to, and whether it did."""
        if self._trim is None or now < self._due:
            return False
        self._due = now + _EVERY_S
        self._trim(0)
        return True
