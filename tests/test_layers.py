"""The packages and the rooms of ``workers``: which may import which, and how large a module may grow."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter

import pytest

from tests.data import ROOT
from tests.rooms import KNOWN, MODULES, drawn, imports, imports_of, name_of, room_of, rooms

#: What each package may not import.
FORBIDDEN: dict[str, set[str]] = {
    "reflink": {"workers", "schemas", "kafka", "prometheus_client", "helm", "tests", "benchmarks"},
    "schemas": {"workers", "kafka", "helm", "tests", "benchmarks"},
    "workers": {"helm", "tests", "benchmarks"},
    "helm": {"kafka", "tests", "benchmarks"},
}
#: The rooms of ``workers``, the lowest first, and the rooms that each imports. The root is the modules outside all rooms.
ROOMS: dict[str, str] = {
    "root": "",
    "config": "root",
    "telemetry": "root",
    "kafka": "root config telemetry",
    "catalog": "root config telemetry kafka",
    "papers": "root config kafka",
    "absence": "root config telemetry kafka",
    "engine": "root config telemetry kafka catalog",
    "linking": "root config telemetry kafka catalog absence engine",
    "ledger.stores": "root",
    "ledger": "root config telemetry kafka catalog absence ledger.stores",
    "runtime": "root config telemetry kafka",
    "tools": "root config kafka papers ledger",
    "replay": "root config kafka linking tools",
    "devkit": "root config kafka",
    "demo": "root config kafka catalog papers engine tools devkit",
    "cli": "root config telemetry kafka catalog papers engine linking ledger runtime tools replay demo",
}
LONGEST = 300
NO_SUBJECT = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base"}


def test_packages_import_downwards_only():
    for path in MODULES:
        wrong = {name.split(".")[0] for name in imports_of(path, inside=True)} & FORBIDDEN[path.relative_to(ROOT).parts[0]]
        assert not wrong, f"{name_of(path)} must not import {wrong}"


def test_each_room_of_the_workers_imports_the_rooms_that_it_may_and_only_those():
    assert rooms() == {room: set(below.split()) for room, below in ROOMS.items()}


def test_no_room_imports_one_above_it():
    order = list(ROOMS)
    for room, below in ROOMS.items():
        assert all(order.index(each) < order.index(room) for each in below.split()), room


def test_the_picture_of_the_rooms_is_that_of_the_code():
    """Draw it again: python -m tests.rooms docs/rooms.svg."""
    assert (ROOT / "docs/rooms.svg").read_text() == drawn(rooms())


def test_the_arrows_inside_the_library_point_one_way():
    """jats, text and identifiers know no index; the verdict knows no catalog; nothing below the linker knows the linker."""
    above = {
        "reflink.entities": {"reflink.text", "reflink.identifiers", "reflink.jats", "reflink.catalog", "reflink.linking"},
        "reflink.text": {"reflink.lexical", "reflink.semantic", "reflink.catalog", "reflink.linking"},
        "reflink.folding": {"reflink.text", "reflink.lexical", "reflink.semantic", "reflink.verdict", "reflink.catalog"},
        "reflink.identifiers": {"reflink.jats", "reflink.catalog", "reflink.linking"},
        "reflink.storage": {"reflink.blocking", "reflink.lexical", "reflink.semantic", "reflink.catalog", "reflink.linking"},
        "reflink.blocking": {"reflink.lexical", "reflink.semantic", "reflink.catalog", "reflink.linking", "reflink.verdict"},
        "reflink.jats": {"reflink.lexical", "reflink.semantic", "reflink.catalog", "reflink.linking", "reflink.verdict"},
        "reflink.lexical": {"reflink.catalog", "reflink.linking", "reflink.verdict", "reflink.semantic"},
        "reflink.lexical.cpu": {"reflink.lexical.gpu", "reflink.lexical.segments", "reflink.lexical.index"},
        "reflink.lexical.gpu": {"reflink.lexical.segments", "reflink.lexical.index"},
        "reflink.lexical.segments": {"reflink.lexical.gpu", "reflink.lexical.index"},
        "reflink.semantic": {"reflink.catalog", "reflink.linking", "reflink.verdict", "reflink.lexical"},
        "reflink.semantic.encoder": {"reflink.semantic.cpu", "reflink.semantic.gpu", "reflink.semantic.index"},
        "reflink.semantic.cpu": {"reflink.semantic.encoder", "reflink.semantic.gpu", "reflink.semantic.index"},
        "reflink.semantic.gpu": {"reflink.semantic.encoder", "reflink.semantic.index"},
        "reflink.catalog": {"reflink.linking", "reflink.verdict", "reflink.evaluation"},
        "reflink.verdict": {"reflink.catalog", "reflink.linking", "reflink.evaluation"},
        "reflink.linking": {"reflink.evaluation", "reflink.cli"},
        "reflink.evaluation": {"reflink.cli"},
        "reflink.graph": {"reflink.linking", "reflink.evaluation", "reflink.cli"},
        "reflink.recognition": {"reflink.lexical", "reflink.semantic", "reflink.catalog", "reflink.linking", "reflink.cli"},
        "reflink.stripping": {"reflink.lexical", "reflink.semantic", "reflink.catalog", "reflink.linking", "reflink.verdict"},
    }
    for name, path in KNOWN.items():
        rooms = {".".join(known.split(".")[:depth]) for known in imports_of(path, inside=False) for depth in (2, 3)}
        wrong = rooms & set().union(*(above.get(".".join(name.split(".")[:depth]), set()) for depth in (2, 3)))
        assert not wrong, f"{name} imports {wrong}, which is above it"


def test_no_module_imports_itself_in_a_circle():
    graph = {name: {known for known in imports_of(path, inside=False) if known in KNOWN} for name, path in KNOWN.items()}
    # A package's __init__ runs before its modules and may import them, which alone is not a circle.
    for name, known in graph.items():
        if KNOWN[name].name != "__init__.py":
            known -= {".".join(name.split(".")[:depth]) for depth in range(1, name.count(".") + 1)}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules


@pytest.mark.parametrize(
    "module", ["reflink", "reflink.jats", "schemas", "workers.papers.stage", "workers.cli", "workers.ledger.stage"]
)
def test_a_module_without_an_encoder_does_not_import_torch(module: str):
    heavy = "{'torch', 'transformers', 'sentence_transformers', 'sklearn', 'cupy'}"
    script = f"import sys, {module}; print(sorted(set(sys.modules) & {heavy}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_a_module_has_one_subject_and_a_name_for_it():
    for path in MODULES:
        assert not set(name_of(path).split(".")) & NO_SUBJECT, name_of(path)
        lines = len(path.read_text().splitlines())
        assert lines <= LONGEST, f"{name_of(path)} has {lines} lines: split it by subject"


# The reading of imports


def test_kernels_are_cached_by_one_function():
    folders = ("reflink", "workers", "benchmarks")
    found = {
        str(path.relative_to(ROOT))
        for name in folders
        for path in (ROOT / name).rglob("*.py")
        if "(cache=True" in path.read_text()
    }
    assert found == {"reflink/compiled.py"}


def imports_in(source: str, *, inside: bool = False, name: str = "workers.cli", package: bool = False) -> set[str]:
    return set(imports(ast.parse(source), inside=inside, name=name, package=package))


def test_imports_are_found_at_any_place():
    source = """
from __future__ import annotations
import kafka.errors as e, os
from reflink import jats
if TYPE_CHECKING:
    from reflink.linking.linker import Policy
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
    now = {"__future__", "kafka.errors", "os", "reflink.jats", "reflink.linking.linker", "numba", "cupy", "lmdb"}
    assert imports_in(source) == now
    assert imports_in(source, inside=True) == now | {"torch", "kafka"}
    assert imports_in("from . import stage\nfrom .records import Partition") == {"workers.stage", "workers.records"}
    assert imports_in("from .document import read", name="reflink.jats", package=True) == {"reflink.jats.document"}


def test_the_room_of_a_module():
    names = ("workers", "workers.stage", "workers.kafka", "workers.ledger.stage", "workers.ledger.stores.rocksdb")
    assert [room_of(name) for name in names] == ["root", "root", "kafka", "ledger", "ledger.stores"]
    assert room_of("workers.ledger.stores") == "ledger.stores"
