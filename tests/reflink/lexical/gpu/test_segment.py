"""The search on a GPU gives the CPU's hits: in numba's simulator, which is chosen for a whole process, so in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.data import ROOT


def test_in_the_simulator_every_test_of_the_device_passes() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/reflink/lexical/gpu/simulated_segment.py"]
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_whoever_imports_the_search_imports_nothing_of_the_device() -> None:
    script = "import sys, reflink.lexical; print([name for name in sys.modules if name.startswith('reflink.lexical.gpu')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"
