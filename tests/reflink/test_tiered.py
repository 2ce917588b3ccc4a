"""Kernels that run as plain Python before they are compiled give the same results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reflink import jats, tiered
from reflink.jats import entries
from reflink.tiered import plain
from tests.data import ROOT

PAPERS = sorted(path for path in (ROOT / "examples" / "papers").rglob("*.xml") if "poison" not in path.name)

PROGRAM = """
import sys
from reflink import tiered
from reflink.compiled import compiled

FACTOR = 2

@compiled()
def twice(x):
    return FACTOR * x

@compiled(plain_s=float(sys.argv[2]))
def kernel(x):
    return twice(x) + 1

if sys.argv[1] == "plain":
    tiered.run_plain_first()
print([kernel(x) for x in range(3)], len(kernel.kernel.signatures), sum(kernel.kernel.stats.cache_hits.values()))
"""


def test_a_kernel_is_plain_only_where_it_is_allowed_not_cached_and_within_its_budget(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def compilations(first: str, plain_s: float) -> tuple[int, int]:
        """Return the number of compiled signatures, and of those from the cache."""
        command = [sys.executable, "program.py", first, str(plain_s)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        results, signatures, hits = done.stdout.rsplit(maxsplit=2)
        assert results == "[1, 3, 5]"
        return int(signatures), int(hits)

    assert compilations("plain", 1000) == (0, 0)
    assert compilations("plain", 1e-9) == (1, 0), "compiled when the first call had spent the budget"
    assert compilations("plain", 1000) == (1, 1), "from the cache"
    (tmp_path / "program.py").write_text(PROGRAM.replace("FACTOR = 2", "FACTOR = 1 + 1"))
    assert compilations("compiled", 1000) == (1, 0)


class Compiled:
    """A kernel that is not in the cache; its plain function returns the length of an array."""

    signatures: tuple[object, ...] = ()

    @staticmethod
    def py_func(array: np.ndarray) -> int:
        return len(array)

    def __call__(self, *_: object) -> str:
        return "compiled"


def test_a_kernel_is_not_plain_on_a_long_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiered, "_plain_first", True)
    monkeypatch.setattr(tiered.Tiered, "_is_cached", lambda *_: False)
    kernel = tiered.Tiered(Compiled(), 1000)
    assert kernel(np.zeros(tiered.LONGEST + 1, np.uint8)) == "compiled"
    assert kernel(np.zeros(3, np.uint8)) == 3


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.stem)
def test_the_plain_scanner_reads_what_the_compiled_one_reads(monkeypatch: pytest.MonkeyPatch, paper: Path) -> None:
    content = paper.read_bytes()
    compiled = jats.parse(content, source=paper.name)
    plain_scan, calls = plain(entries.scan.kernel.py_func), []

    def scan(*args: object) -> None:
        calls.append(args)
        plain_scan(*args)

    monkeypatch.setattr(entries, "scan", scan)
    assert jats.parse(content, source=paper.name) == compiled
    assert calls
