"""Compilation of kernels by NVRTC, which needs no GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

#: A100 and H100.
ARCHITECTURES = ("sm_80", "sm_90")


def compiled(code: str, options: Sequence[str], architecture: str) -> tuple[set[str], bytes]:
    """Return the names of the kernels and the machine code for ``architecture``; skip the test without NVRTC.

    The test fails, with the compiler's log, if the code does not compile or a kernel keeps values in memory for want of
    registers.
    """
    nvrtc: Any = pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed; it comes with torch for GPUs")

    def checked(result: tuple[Any, ...]) -> Any:
        assert result[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, result
        return result[1] if len(result) > 1 else None

    program = checked(nvrtc.nvrtcCreateProgram(code.encode(), b"kernels.cu", 0, [], []))
    given = (*options, f"--gpu-architecture={architecture}", "--ptxas-options=-v")
    status = nvrtc.nvrtcCompileProgram(program, len(given), [option.encode() for option in given])
    log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
    checked(nvrtc.nvrtcGetProgramLog(program, log))
    assert status[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    machine_code = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, machine_code))
    names = re.findall(r"Compiling entry function '(\w+)'", log.decode())
    spills = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", log.decode())
    assert spills == [("0", "0")] * len(names), log.decode()
    return set(names), machine_code
