"""Kernels in CUDA C++, compiled by CuPy (NVRTC) at first use and launched on torch's current stream.

CuPy keeps compiled kernels on disk (``CUPY_CACHE_DIR``), so a process compiles only what no process has compiled before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import torch

log = logging.getLogger(__name__)

_HERE: Final = Path(__file__).parent


class Kernels(Protocol):
    """Compiled kernels."""

    def launch(self, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any) -> None:
        """Queue a kernel. Arguments: torch tensors for pointers, int for integers of any width, float for float32."""
        ...


def source(path: Path) -> str:
    """Return the source of kernels with the functions on fp16 values that it uses."""
    return (_HERE / "halves.cuh").read_text(encoding="utf-8") + path.read_text(encoding="utf-8")


def complete(kernels: str) -> str:
    """Return ``kernels`` with the functions that only a GPU has: what NVRTC compiles."""
    return (_HERE / "warp.cuh").read_text(encoding="utf-8") + kernels


def options(constants: Mapping[str, int]) -> tuple[str, ...]:
    """Return the options of NVRTC."""
    return ("-std=c++17", *(f"-D{name}={value}" for name, value in constants.items()))


class Program:
    """The kernels of ``kernels``, with integer ``constants`` as macros, compiled for ``device``.

    Raises ImportError without CuPy, and errors of CuPy if NVRTC cannot compile them.
    """

    def __init__(self, kernels: str, constants: Mapping[str, int], device: torch.device) -> None:
        import cupy

        self._stream: Callable[[int], Any] = cache(cupy.cuda.ExternalStream)
        self._device = device
        with torch.cuda.device(device):
            self._module = cupy.RawModule(code=complete(kernels), options=options(constants))
            self._module.compile()
        self._functions: dict[str, Any] = {}

    def launch(self, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any) -> None:
        """Queue a kernel on torch's current stream."""
        stream = self._stream(torch.cuda.current_stream(self._device).cuda_stream)
        with torch.cuda.device(self._device):
            if name not in self._functions:
                self._functions[name] = self._module.get_function(name).kernel
            # The function itself, not the RawKernel, which would look up the stream and the function at every launch.
            self._functions[name](grid, block, tuple(map(_value, arguments)), 0, stream)


def _value(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.data_ptr()
    return np.float32(argument) if isinstance(argument, float) else argument


def compiled(path: Path, constants: Mapping[str, int], device: torch.device) -> Program | None:
    """Return the kernels of a file; None, with a warning, if CuPy is absent or cannot compile them."""
    try:
        return Program(source(path), constants, device)
    except Exception as error:  # of CuPy, NVRTC or the driver; torch's operators compute the same
        log.warning("no CUDA kernels", extra={"file": path.name, "reason": " ".join(str(error).split())[:300]})
        return None
