"""Compilation of kernels by NVRTC, which needs no GPU."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from reflink.gpu.program import whole


def cubin(kernels: str, constants: Mapping[str, int], architecture: str) -> bytes:
    """Return machine code for ``architecture`` (``sm_90``). Fails the test with the log of an error; skips it without NVRTC."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"no NVRTC, which comes with torch for CUDA: {error}")
    options = ["-std=c++17", f"-arch={architecture}", *(f"-D{name}={value}" for name, value in constants.items())]
    _, program = nvrtc.nvrtcCreateProgram(whole(kernels).encode(), b"kernels.cu", 0, [], [])
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    code = b" " * size
    nvrtc.nvrtcGetCUBIN(program, code)
    return code
