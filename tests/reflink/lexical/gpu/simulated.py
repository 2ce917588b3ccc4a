"""A simulated GPU: the kernels of ``kernels.cu``, compiled by this machine's C++ compiler and run on numpy's arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from reflink.lexical.gpu import kernels
from tests.cuda.simulated import compiled, exports, launch
from tests.data import ROOT

FUNCTIONS = Path(__file__).with_name("functions.h")
SOURCE = ROOT / "reflink" / "lexical" / "gpu" / "kernels.cu"


@cache
def library() -> ctypes.CDLL:
    """Return the compiled kernels and functions of theirs; skip the test if there is no C++ compiler."""
    code = SOURCE.read_text("utf-8")
    return compiled(f'#include "cuda.h"\n{code}\n{FUNCTIONS.read_text("utf-8")}\n{exports(code)}', *kernels.definitions())


def argument(value: Any) -> Any:
    """Convert an argument as a device does: an int is an int64, a float a float64, an array its address."""
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    assert type(value) in (int, float), type(value)
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)


class SimulatedDevice:
    """A ``Device`` with ``free`` bytes of memory. ``launched``: the kernels in order."""

    def __init__(self, free: float = float("inf")) -> None:
        self.xp: Any = np
        self.processors = 2
        self.free = free
        self.launched: list[str] = []
        self._active = False
        self._library = library()

    @contextmanager
    def active(self) -> Iterator[None]:
        self._active = True
        try:
            yield
        finally:
            self._active = False

    def free_bytes(self) -> float:
        return self.free

    def release(self) -> None: ...

    def total_bytes(self) -> int:
        return 1 << 40

    def write(self, array: np.ndarray[Any, Any], target: Any) -> None:
        assert self._active
        assert (array.shape, array.dtype) == (target.shape, target.dtype)
        target[...] = array

    def received(self, *arrays: Any) -> list[Any]:
        return [array.copy() for array in arrays]

    def launch(self, kernel: str, grid: int, threads: tuple[int, int], *arguments: Any) -> None:
        assert self._active
        assert threads[0] * threads[1] <= 1024
        self.launched.append(kernel)
        launch(self._library, kernel, (grid, 1), threads, [argument(each) for each in arguments])
