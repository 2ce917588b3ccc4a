"""A simulated GPU: the kernels of ``kernels.cu``, compiled by this machine's C++ compiler and run on numpy's arrays."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest

from reflink.lexical.gpu import kernels
from tests.data import ROOT

HOST = Path(__file__).parent / "host"
SOURCE = ROOT / "reflink" / "lexical" / "gpu" / "kernels.cu"
FLAGS = ("-std=c++20", "-O2", "-shared", "-fPIC", "-ffp-contract=off")
#: The simulation has one state for all threads of the process.
ONE = Lock()


@cache
def library() -> ctypes.CDLL:
    """Return the compiled kernels; skip the test if there is no C++ compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler (c++) on the PATH: the kernels cannot be compiled for the CPU")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "kernels.so"
        sources = (f'-DKERNELS="{SOURCE}"', str(HOST / "kernels.cpp"))
        command = [compiler, *FLAGS, *kernels.definitions(), *sources, "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(target))


def argument(value: Any) -> Any:
    """Convert an argument as a device does: an int is an int64, a float a float64, an array its address."""
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    assert type(value) in (int, float), type(value)
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)


class SimulatedDevice:
    """A ``Device`` with ``free`` bytes of memory. Two thread blocks fill it. ``launched``: the kernels in order."""

    def __init__(self, free: float = float("inf")) -> None:
        self.xp: Any = np
        self.width = 2
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
        assert 0 < grid < 2**31
        assert threads[0] * threads[1] <= 1024
        given = [argument(each) for each in arguments]
        address = ctypes.c_void_p.in_dll(self._library, f"launch_{kernel}").value
        assert address is not None
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_int, *[type(each) for each in given])
        self.launched.append(kernel)
        with ONE:
            prototype(address)(grid, *threads, *given)
