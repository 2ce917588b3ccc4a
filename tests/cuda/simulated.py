"""Kernels of CUDA C++ on a processor: the real source, compiled by the machine's C++ compiler with ``cuda.h``."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
import torch

HERE = Path(__file__).parent
FLAGS = ("-std=c++20", "-O2", "-shared", "-fPIC", "-ffp-contract=off", "-w", f"-I{HERE}")
#: The simulation has one state for all threads of the process.
ONE = Lock()


def compiled(code: str, *options: str) -> ctypes.CDLL:
    """Compile C++ and load it; skip the test if there is no C++ compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler (c++) on the PATH: the kernels cannot be compiled for the CPU")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        source.write_text(code)
        done = subprocess.run([compiler, *FLAGS, *options, source, "-o", target], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(target))


def exports(code: str) -> str:
    """Return a launcher of each kernel in ``code``, by name."""
    names = re.findall(r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(', code)
    launchers = (f"auto* launch_{name} = &host::Launch<&{name}>::call;" for name in names)
    return "\n".join(['extern "C" {', *launchers, "}"])


def launch(library: ctypes.CDLL, name: str, grid: tuple[int, int], block: tuple[int, int], given: Sequence[Any]) -> None:
    """Run a kernel to its end; ``given`` are values of ctypes."""
    address = ctypes.c_void_p.in_dll(library, f"launch_{name}").value
    assert address is not None
    assert 0 < grid[0] < 2**31
    sizes = (*grid, *block)
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_int] * len(sizes), *[type(each) for each in given])
    with ONE:
        prototype(address)(*sizes, *given)


@cache
def _compiled(source: str, *options: str) -> ctypes.CDLL:
    return compiled('#include "warp.h"\n' + source + exports(source), *options)


class Simulated:
    """The kernels of a source; ``launch`` as ``reflink.gpu.program.Program``."""

    def __init__(self, source: str, constants: Mapping[str, int]) -> None:
        self._library = _compiled(source, *(f"-D{name}={value}" for name, value in constants.items()))

    def launch(self, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any) -> None:
        """Run a kernel to its end."""
        launch(self._library, name, _two(grid), _two(block), [_value(each) for each in arguments])


def _two(size: tuple[int, ...]) -> tuple[int, int]:
    return size[0], size[1] if len(size) > 1 else 1


def _value(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        assert argument.is_contiguous()
        return ctypes.c_void_p(argument.data_ptr())
    return ctypes.c_int64(argument) if isinstance(argument, int) else ctypes.c_float(argument)
