"""Kernels that run as plain Python before they are compiled give the same results."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import islice, product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal

from reflink import jats, tiered
from reflink.entities import Reference, Work
from reflink.jats import entries
from reflink.recognition import crf, features, recognise, tagging
from reflink.recognition.bigru import network
from reflink.tiered import Plain, plain
from reflink.verdict.batch import compare_all
from reflink.verdict.kernels import comparing, gathering, packing
from tests.data import ROOT
from tests.profiles import examples
from tests.reflink.verdict.records import pools

PAPERS = sorted(path for path in (ROOT / "examples" / "papers").rglob("*.xml") if "poison" not in path.name)

PROGRAM = """
import sys
import numpy as np
from reflink import tiered
from reflink.compiled import compiled
from reflink.tiered import Plain

FACTOR = 2

@compiled()
def twice(x):
    return FACTOR * x

@compiled(plain=Plain(float(sys.argv[2]), 10))
def kernel(x):
    return twice(x[0]) + 1

if sys.argv[1] == "plain":
    tiered.run_plain_first()
results = [int(kernel(np.array([x]))) for x in range(3)]
print(results, len(kernel.kernel.signatures), sum(kernel.kernel.stats.cache_hits.values()))
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
    """A kernel that is not in the cache; its result tells which function ran."""

    signatures: tuple[object, ...] = ()

    @staticmethod
    def py_func(_: object) -> str:
        return "plain"

    def __call__(self, *_: object) -> str:
        return "compiled"


@pytest.mark.parametrize("wrap", [lambda array: array, lambda array: (array, None)], ids=["array", "tuple"])
def test_a_kernel_is_not_plain_on_a_long_array(monkeypatch: pytest.MonkeyPatch, wrap: Callable[[np.ndarray], object]) -> None:
    monkeypatch.setattr(tiered, "_plain_first", True)
    monkeypatch.setattr(tiered.Tiered, "_is_cached", lambda *_: False)
    kernel = tiered.Tiered(Compiled(), Plain(1000, 3))
    assert kernel(wrap(np.zeros(4, np.uint8))) == "compiled"
    assert kernel(wrap(np.zeros(3, np.uint8))) == "plain"


def count_plain(monkeypatch: pytest.MonkeyPatch, modules: Sequence[ModuleType], name: str) -> list[None]:
    """Put the plain function in place of a kernel in the modules that have it; return a list with an element for each call."""
    kernel, calls = plain(getattr(modules[0], name).kernel.py_func), []

    def counted(*args: object) -> object:
        calls.append(None)
        with np.errstate(over="ignore"):
            return kernel(*args)

    for module in modules:
        monkeypatch.setattr(module, name, counted)
    return calls


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.stem)
def test_the_plain_scanner_reads_what_the_compiled_one_reads(monkeypatch: pytest.MonkeyPatch, paper: Path) -> None:
    content = paper.read_bytes()
    compiled = jats.parse(content, source=paper.name)
    calls = count_plain(monkeypatch, [entries], "scan")
    assert jats.parse(content, source=paper.name) == compiled
    assert calls


def assert_plain_comparison_is_equal(references: Sequence[Reference], works: Sequence[Work], pairs: np.ndarray) -> None:
    expected = compare_all(references, works, pairs)
    with pytest.MonkeyPatch.context() as patch:
        calls = [
            count_plain(patch, [module], name)
            for module, name in ((gathering, "_scan"), (packing, "_pack"), (comparing, "_fill"))
        ]
        found = compare_all(references, works, pairs)
    assert_array_equal(found, expected)
    assert all(calls)


def test_plain_comparison_finds_the_evidence_of_the_compiled_one() -> None:
    references = [reference for path in PAPERS[:12] for reference in jats.parse(path.read_bytes(), source=path.name).references]
    with (ROOT / "examples" / "works.jsonl").open("rb") as lines:
        works = [Work.from_json(line) for line in islice(lines, 120)]
    pairs = np.array([(a, (7 * a + b) % len(works)) for a in range(len(references)) for b in range(8)])
    assert_plain_comparison_is_equal(references, works, pairs)


@settings(max_examples=examples(100))
@given(pools())
def test_plain_comparison_of_awkward_records_finds_the_evidence_of_the_compiled_one(
    pool: tuple[list[Reference], list[Work]],
) -> None:
    references, works = pool
    assert_plain_comparison_is_equal(references, works, np.array(list(product(range(len(references)), range(len(works))))))


def test_plain_recognition_finds_the_fields_of_the_compiled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        reference.raw_text
        for path in PAPERS[:12]
        for reference in jats.parse(path.read_bytes(), source=path.name).references[:3]
    ]
    expected = [recognise(text) for text in texts]
    assert any(expected)
    calls = [
        count_plain(monkeypatch, modules, name)
        for modules, name in (
            ([features], "_positions"), ([features], "_features"), ([tagging], "_runs"), ([crf, network], "row_sums"),
        )
    ]  # fmt: skip
    assert [recognise(text) for text in texts] == expected
    assert all(calls)


COMMANDS = """
import sys
from numba.core import event
from reflink.cli import main

class Modules(event.Listener):
    def on_start(self, started):
        modules.add(started.data["dispatcher"].py_func.__module__)

    def on_end(self, ended):
        pass

modules = set()
event.register("numba:compile", Modules())
assert main() == 0
print(*modules)
"""


def test_a_first_command_compiles_neither_the_scanner_nor_the_comparison(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def compiled_modules(*arguments: str) -> set[str]:
        command = [sys.executable, "-c", COMMANDS, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {name for name in done.stdout.splitlines()[-1].split() if name.startswith("reflink.")}

    catalog = str(tmp_path / "catalog")
    compiled_modules("catalog", "build", str(ROOT / "examples" / "works.jsonl"), "--out", catalog, "--no-vectors")
    modules = compiled_modules("link", str(PAPERS[0]), "--catalog", catalog)
    assert "reflink.verdict.kernels.points" in modules, "the command compared references with works"
    assert not {name for name in modules if name.startswith(("reflink.jats.", "reflink.verdict."))} - {
        "reflink.verdict.kernels.points"
    }
