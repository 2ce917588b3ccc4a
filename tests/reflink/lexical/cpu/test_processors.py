"""The kernels compiled for processors with narrower registers find the same hits."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

#: Without AVX-512, and without AVX; on other machines the generic processor.
PROCESSORS = ["x86-64-v3", "x86-64"] if platform.machine() in ("x86_64", "AMD64") else ["generic"]
CHECKED = ("test_vectors.py", "test_searching.py::test_hits_equal_those_of_counting", "../segments/test_segment.py")
#: Compiles a count wide enough for the widest registers, and prints the registers that its code uses.
WIDTHS = """
import numba, numpy as np
from tests.reflink.lexical.cpu.test_vectors import few, WIDTH
few(np.zeros(2 * WIDTH, np.uint64), WIDTH, np.zeros(16, np.int32), 1, np.zeros(WIDTH, np.uint64))
code = "".join(few.inspect_asm().values())
print([name for name in ("zmm", "ymm", "xmm") if "%" + name in code])
"""


@pytest.mark.full
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_hits_are_the_same_on_processor(processor: str, tmp_path: Path) -> None:
    # Features that are not named are this processor's own.
    named = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    here = Path(__file__).parent

    def run(*arguments: str) -> str:
        done = subprocess.run([sys.executable, *arguments], env=os.environ | named, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    widths = run("-c", WIDTHS)
    assert "zmm" not in widths
    if processor.startswith("x86"):
        assert ("ymm" in widths) == (processor == "x86-64-v3")
    assert " passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(here / each) for each in CHECKED))
