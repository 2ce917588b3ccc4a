"""The rooms of the house: who may know whom, and how large a module may grow."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data import ROOT

PACKAGES = ("reflink", "schemas", "workers")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
#: What each package may not know.
FORBIDDEN: dict[str, set[str]] = {
    "reflink": {"workers", "schemas", "kafka", "prometheus_client"},
    "schemas": {"workers", "kafka"},
    "workers": set(),
}
LONGEST = 300
NO_SUBJECT = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "tools", "base"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN = {name_of(path): path for path in MODULES}


def is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in ast.dump(test)


def imports(tree: ast.AST, *, at_import_time: bool, name: str, package: bool) -> Iterator[str]:
    """Names of modules that a module imports: all, or those imported while it is imported itself."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".")[: len(name.split(".")) - node.level + package] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{module}.{alias.name}"
                yield whole if whole in KNOWN else module
        elif at_import_time and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        elif at_import_time and isinstance(node, ast.If) and is_type_checking(node.test):
            otherwise = ast.Module(body=node.orelse, type_ignores=[])
            yield from imports(otherwise, at_import_time=True, name=name, package=package)
        else:
            yield from imports(node, at_import_time=at_import_time, name=name, package=package)


def imports_of(path: Path, *, at_import_time: bool) -> set[str]:
    tree = ast.parse(path.read_text())
    return set(imports(tree, at_import_time=at_import_time, name=name_of(path), package=path.name == "__init__.py"))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_arrows_point_one_way(path: Path):
    package = path.relative_to(ROOT).parts[0]
    known = {name.split(".")[0] for name in imports_of(path, at_import_time=False)}
    assert not known & FORBIDDEN[package], f"{name_of(path)} must not know {known & FORBIDDEN[package]}"
    assert "tests" not in known
    assert "benchmarks" not in known


def test_the_arrows_inside_the_library_point_one_way():
    """jats, text and identifiers know no index; the verdict knows no catalog; nothing below the linker knows the linker."""
    above = {
        "reflink.entities": {"reflink.text", "reflink.identifiers", "reflink.jats", "reflink.catalog", "reflink.linker"},
        "reflink.text": {"reflink.lexical", "reflink.semantic", "reflink.catalog", "reflink.linker"},
        "reflink.identifiers": {"reflink.jats", "reflink.catalog", "reflink.linker"},
        "reflink.jats": {"reflink.lexical", "reflink.semantic", "reflink.catalog", "reflink.linker", "reflink.verdict"},
        "reflink.lexical": {"reflink.catalog", "reflink.linker", "reflink.verdict", "reflink.semantic"},
        "reflink.semantic": {"reflink.catalog", "reflink.linker", "reflink.verdict", "reflink.lexical"},
        "reflink.catalog": {"reflink.linker", "reflink.verdict", "reflink.evaluation"},
        "reflink.verdict": {"reflink.catalog", "reflink.linker", "reflink.evaluation"},
        "reflink.linker": {"reflink.evaluation", "reflink.cli"},
        "reflink.evaluation": {"reflink.cli"},
    }
    for name, path in KNOWN.items():
        room = ".".join(name.split(".")[:2])
        rooms = {".".join(known.split(".")[:2]) for known in imports_of(path, at_import_time=True)}
        wrong = rooms & above.get(room, set())
        assert not wrong, f"{name} imports {wrong}, which stands above it"


def test_no_module_imports_itself_in_a_circle():
    graph = {name: {known for known in imports_of(path, at_import_time=True) if known in KNOWN} for name, path in KNOWN.items()}
    # A package's __init__ runs before its modules, and may gather them: that alone is no circle.
    for name, known in graph.items():
        if KNOWN[name].name != "__init__.py":
            known -= {".".join(name.split(".")[:depth]) for depth in range(1, name.count(".") + 1)}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join((*way[way.index(name) :], name))
        if name not in done:
            for known in sorted(graph[name]):
                visit(known, (*way, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize(
    "module", ["reflink", "reflink.jats", "schemas", "workers.parser", "workers.cli", "workers.ledger.stage"]
)
def test_torch_is_not_imported_by_those_who_do_not_need_it(module: str):
    heavy = "{'torch', 'transformers', 'sentence_transformers', 'sklearn', 'cupy'}"
    script = f"import sys, {module}; print(sorted(set(sys.modules) & {heavy}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_has_one_subject_and_a_name_for_it(path: Path):
    assert not set(name_of(path).split(".")) & NO_SUBJECT
    lines = len(path.read_text().splitlines())
    assert lines <= LONGEST, f"{name_of(path)} has {lines} lines: it has more than one subject"


# The test itself


def imports_in(source: str, *, at_import_time: bool = True, name: str = "workers.cli", package: bool = False) -> set[str]:
    return set(imports(ast.parse(source), at_import_time=at_import_time, name=name, package=package))


def test_imports_are_seen_wherever_they_are():
    source = """
from __future__ import annotations
import kafka.errors as e, os
from reflink import jats
if TYPE_CHECKING:
    from reflink.linker import Policy
else:
    import numba
try:
    import cupy
except ImportError:
    pass
def run():
    import torch
class A:
    import lmdb
    def f(self):
        from kafka import X
"""
    now = {"__future__", "kafka.errors", "os", "reflink.jats", "numba", "cupy", "lmdb"}
    assert imports_in(source) == now
    assert imports_in(source, at_import_time=False) == now | {"reflink.linker", "torch", "kafka"}
    assert imports_in("from . import flow\nfrom .stage import Place") == {"workers.flow", "workers.stage"}
    assert imports_in("from .document import read", name="reflink.jats", package=True) == {"reflink.jats.document"}
