"""Kernels that Python calls: compiled on first use, and kept on disk for as long as their sources stay the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kept(*modules: ModuleType) -> Callable[[Kernel], Kernel]:
    """Compiles a kernel that calls those of ``modules``, and keeps the machine code beside it or in NUMBA_CACHE_DIR.

    Numba's cache goes by a kernel's name and its own file, and does not see a change in the modules that it calls. So the
    digest of their sources goes into the name, and they are not cached themselves. Where nothing can be written, each
    process compiles for itself.
    """
    sources = b"".join(Path(module.__file__ or "").read_bytes() for module in modules)

    def compiled(kernel: Kernel) -> Kernel:
        kernel.__qualname__ += "_" + hashlib.sha256(sources).hexdigest()[:16]
        try:
            return cast("Kernel", njit(boundscheck=True, cache=True, nogil=True)(kernel))
        except RuntimeError:  # no folder for the cache
            return cast("Kernel", njit(boundscheck=True, nogil=True)(kernel))

    return compiled
