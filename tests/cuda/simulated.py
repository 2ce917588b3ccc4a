"""Kernels of CUDA C++ on a processor: the real source, compiled by the machine's C++ compiler with ``simulation.h``."""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
#: Compiled libraries of this run of the tests.
_FOLDER = tempfile.TemporaryDirectory(prefix="cuda-simulation-")


class Simulated:
    """The kernels of a source; ``launch`` as ``reflink.gpu.program.Program``. Arguments: pointers and integers, float32."""

    def __init__(self, source: str, constants: Mapping[str, int]) -> None:
        compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
        if compiler is None:
            pytest.skip("no C++ compiler: the kernels of the GPU cannot be simulated")
        names = re.findall(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(', source)
        exports = "\n".join(f"EXPORT({name})" for name in names)
        code = '#include "simulation.h"\n' + re.sub(r'extern "C" __global__', "static", source) + exports
        options = ["-std=c++20", "-O2", "-ffp-contract=off", "-w", "-shared", "-fPIC", f"-I{HERE}"]
        options += [f"-D{name}={value}" for name, value in constants.items()]
        place = Path(_FOLDER.name) / hashlib.sha256((code + str(options)).encode()).hexdigest()[:16]
        if not place.with_suffix(".so").exists():
            place.with_suffix(".cpp").write_text(code)
            subprocess.run([compiler, *options, "-o", place.with_suffix(".so"), place.with_suffix(".cpp")], check=True)
        self._library = ctypes.CDLL(str(place.with_suffix(".so")))

    def launch(self, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any) -> None:
        """Run a kernel to its end."""
        values = [_value(each) for each in arguments]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        sizes = (*grid, 1)[:2] + (*block, 1)[:2]
        getattr(self._library, f"launch_{name}")(*sizes, pointers)


def _value(argument: Any) -> Any:
    if hasattr(argument, "data_ptr"):
        return ctypes.c_void_p(argument.data_ptr())
    if hasattr(argument, "ctypes") and getattr(argument, "ndim", 0):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    return ctypes.c_float(float(argument))
