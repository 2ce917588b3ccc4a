"""Memory of a long-lived process: settings of the garbage collector and of glibc, return of freed memory."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from typing import Any, Final

#: Net number of new containers before the collector searches for cycles. Python's default of 700 is too small for a process
#: whose batches consist of tens of thousands of objects.
_THRESHOLD: Final = 20_000
#: Seconds between two returns of memory to the system.
_EVERY_S: Final = 10.0
#: glibc's parameter M_ARENA_MAX, and its value.
_ARENA_MAX: Final = -8
_ARENAS: Final = 2


def settle() -> None:
    """Exclude all current objects from garbage collection. Call once, when the worker has loaded everything that it keeps.

    Otherwise the collector traverses torch's modules and the catalog's caches repeatedly, which takes a third of the time of a
    linker's verdicts (python -m benchmarks.workers.linker).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_THRESHOLD)


def limit_arenas() -> None:
    """Limit the number of glibc's arenas (Linux only), unless the environment does. Threads that start later get no new arena.

    By default each thread gets an arena of its own, up to eight per core, and memory that one thread has freed is not reused by
    the others.
    """
    if "MALLOC_ARENA_MAX" in os.environ or "arena_max" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    if (mallopt := _libc("mallopt")) is not None:
        mallopt(_ARENA_MAX, _ARENAS)


class Returning:
    """Returns freed memory to the system every ``_EVERY_S`` seconds (Linux only).

    glibc keeps freed memory for reuse, and with batches of many sizes this memory grows for hours
    (python -m tests.campaigns.chaos.memory). Recent cyclic garbage is collected first: each timeout of kafka-python leaves
    frames with tracebacks, which stay until ``_THRESHOLD`` containers are there.
    """

    def __init__(self, now: float) -> None:
        self._due = now + _EVERY_S
        self._trim = _libc("malloc_trim")

    def at(self, now: float) -> bool:
        """Return memory to the system if the interval has passed at time ``now`` (seconds). Return whether it did."""
        if self._trim is None or now < self._due:
            return False
        self._due = now + _EVERY_S
        gc.collect(1)
        self._trim(0)
        return True


def _libc(name: str) -> Any:
    """Return a function of the C library; None where it has no such function."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
