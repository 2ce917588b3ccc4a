"""Compile the kernels that the scanner's cached kernels call. They are compiled into those, so they have no cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from numba import njit

from reflink.tiered import Plain

#: Limits of the scanner's kernels as plain Python, which reads about 100,000 bytes a second.
PLAIN: Final = Plain(2.0, 150_000)

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """Compile a kernel that other kernels call. It must not allocate.

    Its caller holds the arrays, so ``_nrt=False`` omits numba's reference counts, with which a scan takes three times as long.
    """
    return cast("Kernel", njit(boundscheck=True, nogil=True, _nrt=False)(function))


def inlined(function: Kernel) -> Kernel:
    """Compile a kernel like `kernel`, into each kernel that calls it."""
    return cast("Kernel", njit(boundscheck=True, nogil=True, _nrt=False, inline="always")(function))
