"""Input cannot run code: no module unpickles, and arrays and weights are read as data only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data import ROOT

PACKAGES = ("reflink", "schemas", "workers")
#: Modules that can run code from their input.
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "jsonpickle", "pandas"}
CALLS = {"eval", "exec", "__import__"}


def breaches(source: str) -> Iterator[str]:
    """Yield the calls and imports of a module that could run code from a file."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found = {name.name.split(".")[0] for name in names}
            case ast.ImportFrom(module=str(module)):
                found = {module.split(".")[0]}
            case _:
                found = set()
        yield from (f"line {node.lineno}: imports {name}" for name in found & MODULES)  # type: ignore[attr-defined]
        if isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(call: ast.Call) -> Iterator[str]:
    name = ast.unparse(call.func)
    keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if name in CALLS:
        yield f"line {call.lineno}: calls {name}"
    if name in ("torch.load", "numpy.fromregex") or name.endswith((".read_pickle", ".to_pickle")):
        yield f"line {call.lineno}: calls {name}"
    if name in ("np.load", "numpy.load") and keywords.get("allow_pickle") != "False":
        yield f"line {call.lineno}: {name} without allow_pickle=False"
    elif keywords.get("allow_pickle") not in (None, "False") or keywords.get("trust_remote_code") not in (None, "False"):
        yield f"line {call.lineno}: {name} may unpickle, or runs a model's own code"


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_no_module_can_run_its_input() -> None:
    assert len(modules()) > 100
    found = [f"{path.relative_to(ROOT)}, {breach}" for path in modules() for breach in breaches(path.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize("source", [
    "import pickle",
    "def f():\n    from joblib import load",
    "import torch\ntorch.load(path, weights_only=True)",
    "np.load(path)",
    "np.load(path, mmap_mode='r', allow_pickle=True)",
    "np.save(path, array, allow_pickle=wanted)",
    "eval(text)",
    "AutoModel.from_pretrained(path, trust_remote_code=True)",
])  # fmt: skip
def test_breaches_are_found(source: str) -> None:
    assert len(list(breaches(source))) == 1


def test_no_shipped_file_is_a_pickle() -> None:
    suffixes = {path.suffix for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()}
    assert not suffixes & {".pkl", ".pickle", ".joblib", ".pt", ".pth", ".bin"}
