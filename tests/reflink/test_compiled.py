"""A cached kernel is used again as long as nothing that was compiled into it has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from reflink.compiled import compiled, digest
from tests.data import ROOT

CALLER = """
import callee
from callee import OFFSETS, step
from reflink.compiled import compiled

@compiled(nogil=True)
def total(x):
    found = 0
    for each in range(2):
        found += step(x) + callee.FACTOR * OFFSETS[each]
    return found

if __name__ == "__main__":
    print(total(5), sum(total.stats.cache_hits.values()))
"""
CALLEE = """
import numpy as np
from reflink.compiled import compiled

TYPE = np.int64
FACTOR = 100
OFFSETS = np.array([1, 2])

@compiled()
def add(x, bonus=0):
    return TYPE(max(x, 0) + 1 + bonus)

@compiled()
def step(x):
    return add(x)
"""


@pytest.fixture
def run(tmp_path: Path):
    """Return a function that runs the caller, with parts of the callee replaced, and returns its result and its cache hits."""
    (tmp_path / "caller.py").write_text(CALLER)

    def result(*changed: tuple[str, str]) -> tuple[int, int]:
        text = CALLEE
        for old, new in changed:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "callee.py").write_text(text)
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("NUMBA_CACHE_DIR", None)
        done = subprocess.run([sys.executable, "caller.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        found, hits = map(int, done.stdout.split())
        return found, hits

    return result


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (("return add(x)", "return add(x) + 10"), 332),
        (("+ 1 + bonus", "+ 2 + bonus"), 314),
        (("FACTOR = 100", "FACTOR = 200"), 612),
        (("[1, 2]", "[1, 3]"), 412),
        (("max(x, 0)", "min(x, 0)"), 302),
        (("bonus=0", "bonus=1"), 314),
        (("np.int64", "np.int8"), 312),
        (("@compiled()\ndef step", "@compiled(fastmath=True)\ndef step"), 312),
    ],
    ids=["kernel called", "kernel called by that", "constant", "array", "builtin", "default", "type", "option"],
)
def test_a_change_of_what_was_compiled_in_compiles_the_caller_again(run, changed: tuple[str, str], expected: int):
    assert run() == (312, 0)
    assert run() == (312, 1)
    assert run(changed) == (expected, 0)
    assert run(changed) == (expected, 1)


def test_a_kernel_is_compiled_without_a_cache_folder(monkeypatch: pytest.MonkeyPatch):
    real = numba.njit

    def refusing(**options: bool):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr("reflink.compiled.njit", refusing)

    def kernel(x: int) -> int:
        return x + 1

    assert compiled(nogil=True)(kernel)(41) == 42


def test_recursion_ends():
    @numba.njit
    def down(x):
        return x if x <= 0 else down(x - 1)

    down.py_func.__globals__["down"] = down
    try:
        assert digest(down.py_func) == digest(down.py_func)
    finally:
        del down.py_func.__globals__["down"]


def test_the_compiled_kernel_is_the_function():
    @compiled(inline="always")
    def twice(x):
        return 2 * x

    assert np.array_equal(twice(np.arange(3)), twice.py_func(np.arange(3)))
