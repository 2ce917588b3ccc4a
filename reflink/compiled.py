"""Kernels compiled by numba and cached on disk, with everything that was compiled into them in the key of the cache.

The machine code of a kernel contains the kernels that it calls and the constants that it reads. numba discards a cached kernel
when the file of the kernel itself changes, not when one of these does: after an update it would combine old and new code, which
gives wrong results without an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

from reflink.tiered import Plain, Tiered, codes


def compiled(*, plain: Plain | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function by ``numba.njit`` with these options, and caches its machine code.

    ``plain``: within these limits, a kernel without cached machine code may run as plain Python before it is compiled
    (reflink.tiered); only for kernels that no other kernel calls.
    The cache is beside the source or in NUMBA_CACHE_DIR; if neither is writable, each process compiles the kernel itself.
    The type of the kernel is Any: numba also accepts numpy's scalars where the function has int or float.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            kernel: Any = njit(cache=True, **options)(function)
            if isinstance(kernel, Dispatcher):  # not if the environment disables numba
                kernel._cache = _Cache(kernel.py_func)  # type: ignore[attr-defined]
        except RuntimeError:  # no writable folder
            kernel = njit(**options)(function)
        return Tiered(kernel, plain) if plain and isinstance(kernel, Dispatcher) else kernel

    return decorate


@cache
def digest(function: FunctionType) -> str:
    """Return a hash of what is compiled into a kernel: the files of the kernels that it reaches, and the values read there."""
    return hashlib.sha256(b"".join(_content(function, {function}))).hexdigest()


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function, with ``digest`` in the key. It is computed at the first call, when all globals exist."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), digest(self._py_func))


def _content(function: FunctionType, seen: set[FunctionType]) -> Iterator[bytes]:
    """Yield the parts of the hash. ``seen``: functions whose content is in the hash already."""
    yield _file(function.__code__.co_filename)
    known = function.__globals__
    for code in codes(function.__code__):
        used = [known[name] for name in code.co_names if name in known]
        # co_names also holds the names of attributes. An attribute of a module may be a kernel or a constant.
        modules = [each for each in used if isinstance(each, ModuleType)]
        used += [getattr(module, name) for module in modules for name in code.co_names if hasattr(module, name)]
        for value in used:
            if isinstance(value, Dispatcher):
                if value.py_func not in seen:
                    seen.add(value.py_func)
                    yield from _content(value.py_func, seen)
            elif isinstance(value, np.ndarray):
                yield repr((value.shape, value.dtype)).encode() + value.tobytes()
            elif isinstance(value, frozenset):  # the order of its elements differs between processes
                yield repr(sorted(map(repr, value))).encode()
            elif not isinstance(value, ModuleType) and "0x" not in (text := repr(value)):  # not an address in memory
                yield text.encode()


@cache
def _file(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError:  # a function without a file: numba caches none of these
        return b""
