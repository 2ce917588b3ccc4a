"""Compile the kernels that the scanner's cached kernels call. They are compiled into those, so they have no cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from numba import njit

#: Seconds for which a kernel of the scanner runs as plain Python before it is compiled, if it is not in the cache.
PLAIN_S: Final = 2.0

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """Compile a kernel that other kernels call. It must not allocate.

    Its caller holds the arrays, so ``_nrt=False`` omits numba's reference counts, with which a scan takes three times as long.
    """
    return cast("Kernel", njit(boundscheck=True, nogil=True, _nrt=False)(function))


def inlined(function: Kernel) -> Kernel:
    """Compile a kernel like `kernel`, into each kernel that calls it."""
    return cast("Kernel", njit(boundscheck=True, nogil=True, _nrt=False, inline="always")(function))
