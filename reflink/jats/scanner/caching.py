"""Kernels whose compiled code is kept for as long as their sources stay the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def named_for(*modules: ModuleType) -> Callable[[Kernel], Kernel]:
    """Puts the digest of these sources into a kernel's name.

    Numba's cache goes by that name and by the kernel's own file, and does not see a change in the modules that it calls. So
    only kernels that Python calls are cached, under such names; those that they call become part of them.
    """
    sources = b"".join(Path(module.__file__ or "").read_bytes() for module in modules)

    def named(kernel: Kernel) -> Kernel:
        kernel.__qualname__ += "_" + hashlib.sha256(sources).hexdigest()[:16]
        return kernel

    return named
