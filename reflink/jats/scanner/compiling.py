"""Compile the scanner's kernels, and cache the machine code of those that Python calls until their sources change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """Compile a kernel that other kernels call. It must not allocate.

    Its caller holds the arrays, so ``_nrt=False`` omits numba's reference counts, with which a scan takes three times as long.
    """
    return cast("Kernel", njit(boundscheck=True, nogil=True, _nrt=False)(function))


def inlined(function: Kernel) -> Kernel:
    """Compile a kernel like `kernel`, into each kernel that calls it."""
    return cast("Kernel", njit(boundscheck=True, nogil=True, _nrt=False, inline="always")(function))


def kept(*modules: ModuleType) -> Callable[[Kernel], Kernel]:
    """Return a decorator that compiles a kernel and caches its machine code beside the source or in NUMBA_CACHE_DIR.

    ``modules`` are the modules whose kernels it calls. Numba's cache key is the kernel's name and file, so numba does not
    notice a change in the called modules. The decorator therefore adds the digest of their sources to the name, and their
    kernels are not cached. If no cache folder is writable, each process compiles the kernel itself.
    """
    sources = b"".join(Path(module.__file__ or "").read_bytes() for module in modules)

    def compiled(function: Kernel) -> Kernel:
        function.__qualname__ += "_" + hashlib.sha256(sources).hexdigest()[:16]
        try:
            return cast("Kernel", njit(boundscheck=True, cache=True, nogil=True)(function))
        except RuntimeError:  # no writable cache folder
            return cast("Kernel", njit(boundscheck=True, nogil=True)(function))

    return compiled
