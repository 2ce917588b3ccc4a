"""NVRTC compiles the kernels for NVIDIA GPUs; it needs none."""

from __future__ import annotations

import re
from typing import Any

import pytest

from reflink.lexical.gpu import kernels
from tests.reflink.lexical.gpu.simulated import library


def compiled_by_nvrtc(architecture: str) -> tuple[str, bytes]:
    """Return the log and the machine code."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed; it comes with PyTorch's build for GPUs")

    def checked(result: tuple[Any, ...]) -> Any:
        assert result[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, result
        return result[1] if len(result) > 1 else None

    program = checked(nvrtc.nvrtcCreateProgram(kernels.source().encode(), b"kernels.cu", 0, [], []))
    options = (*kernels.OPTIONS, *kernels.definitions(), f"--gpu-architecture={architecture}", "--ptxas-options=-v")
    done = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
    checked(nvrtc.nvrtcGetProgramLog(program, log))
    assert done[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    code = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, code))
    return log.decode(), code


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_the_kernels_compile_and_keep_their_values_in_registers(architecture: str) -> None:
    log, code = compiled_by_nvrtc(architecture)
    assert set(re.findall(r"Compiling entry function '(\w+)'", log)) == set(kernels.NAMES)
    assert re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", log) == [("0", "0")] * len(kernels.NAMES)
    assert all(name.encode() in code for name in kernels.NAMES)


def test_the_simulated_device_has_every_kernel() -> None:
    assert all(hasattr(library(), f"launch_{name}") for name in kernels.NAMES)
