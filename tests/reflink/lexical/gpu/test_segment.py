"""Run the tests of the search on a GPU in numba's simulator, which applies to a whole process, so in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.data import ROOT


def test_the_tests_of_the_segment_pass_in_the_simulator() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/reflink/lexical/gpu/simulated_segment.py"]
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_importing_the_search_imports_no_module_of_the_gpu() -> None:
    script = "import sys, reflink.lexical; print([name for name in sys.modules if name.startswith('reflink.lexical.gpu')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"
