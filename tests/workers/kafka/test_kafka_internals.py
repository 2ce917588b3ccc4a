"""The parts of kafka-python that reflink uses beyond its documented interface are all listed here and exist.

A new version may change any of them without notice. So pyproject.toml has an upper bound for kafka-python; before the bound is
raised, these parts must be checked. The scan does not find public attributes of internal objects and texts of log messages.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import kafka
import pytest

from tests.data import ROOT

#: The path of each internal, and its use.
INTERNALS: Final = {
    "kafka.cluster.collect_hosts": "probes read the bootstrap servers as the client does",
    "kafka.consumer.fetcher.ConsumerRecord": "the type of a consumer's records",
    "kafka.consumer.fetcher.Fetcher._next_partition_records": "records of a paused partition are taken up again",
    "kafka.consumer.fetcher.Fetcher.PartitionRecords.__bool__": "the same: it is false when all were read",
    "kafka.consumer.group.KafkaConsumer._coordinator": "the way to its joins, and in tests to its phases",
    "kafka.consumer.group.KafkaConsumer._fetcher": "the way to the above",
    "kafka.consumer.group.KafkaConsumer._manager": "the way to the connections",
    "kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor": "the base of our assignor",
    "kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor.assign": "overridden by our assignor",
    "kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor.metadata": "the same",
    "kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor.on_assignment": "the same; before listeners",
    "kafka.coordinator.base.BaseCoordinator": "its phases are hooks of the campaign's victims",
    "kafka.coordinator.base.BaseCoordinator.rejoining": "whether a join is incomplete",
    "kafka.coordinator.base.BaseCoordinator.request_rejoin": "an incomplete join is completed by the next poll",
    "kafka.coordinator.base.BaseCoordinator._process_join_group_response": "tests wait in it, after JoinGroup",
    "kafka.coordinator.consumer": "its logger is filtered",
    "kafka.coordinator.consumer.ConsumerCoordinator._assignment_snapshot": "a test makes a member join again",
    "kafka.net.compat.KafkaNetClient": "made here, so that it is closed when making the client fails",
    "kafka.net.compat.KafkaNetClient.await_ready": "overridden: the producer's thread keeps a request whose broker is gone",
    "kafka.net.connection.KafkaConnection.connected": "whether a consumer has any connection",
    "kafka.net.manager.KafkaConnectionManager._conns": "the same",
    "kafka.net.sasl.scram.ScramClient": "probes log in as the client does",
    "kafka.net.selector": "its logger is kept at ERROR by tools that read all at once",
    "kafka.partitioner.default.murmur2": "the partition of a key",
    "kafka.protocol.consumer.metadata.ConsumerProtocolSubscription": "what a member of a group is, in tests of the assignor",
}
#: Modules that are documented at https://kafka-python.readthedocs.io.
PUBLIC: Final = {
    "kafka",
    "kafka.admin",
    "kafka.consumer",
    "kafka.errors",
    "kafka.producer",
    "kafka.serializer",
    "kafka.structs",
}
SCANNED: Final = ("workers", "tests", "benchmarks", "examples", "docker")
_PRIVATE: Final = re.compile(r"_[A-Za-z]\w*")
#: Private names of kafka-python that this project uses from other packages: named tuples, prometheus_client.
_OTHERS: Final = {"_fields", "_name", "_sum"}
#: Functions that take the name of an attribute.
_BY_NAME: Final = {"getattr", "setattr", "hasattr", "delattr", "object"}


def defined(tree: ast.AST) -> set[str]:
    """Return the names that the code defines: functions, classes, and assigned names of modules, classes and instances."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _receiver(node) in ("self", "cls"):
            found.add(node.attr)
    return found


def private_names(tree: ast.AST) -> set[str]:
    return {name for name in defined(tree) if _PRIVATE.fullmatch(name)}


def _receiver(node: ast.Attribute) -> str:
    return node.value.id if isinstance(node.value, ast.Name) else ""


def sources(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        if path != Path(__file__):
            yield path, ast.parse(path.read_text())


THEIRS: Final = set().union(*(private_names(tree) for _, tree in sources(Path(kafka.__file__).parent)))
TREES: Final = [each for folder in SCANNED for each in sources(ROOT / folder)]
OURS: Final = set().union(*(private_names(tree) for _, tree in TREES))


def used(tree: ast.Module, *, strict: bool) -> set[str]:
    """Return the internals that the code uses: paths of modules, imports and overridden methods, names of private attributes.

    ``strict``, for the product: a private name of kafka-python counts even if other code of reflink defines it too. Names of
    modules in strings count as well, such as those of loggers.
    """
    found: set[str] = set()
    bases: dict[str, str] = {}
    own = private_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names if _internal(each.name)}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "kafka":
            paths = {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            bases |= {name: path for name, path in paths.items() if _internal(node.module) or _internal(path)}
        elif isinstance(node, ast.Attribute) and node.attr in THEIRS:
            ours = OURS if not strict else own if _receiver(node) in ("self", "cls") else set()
            found |= {node.attr} - ours
        elif isinstance(node, ast.Call) and (getattr(node.func, "id", "") or getattr(node.func, "attr", "")) in _BY_NAME:
            texts = {each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)}
            found |= texts & THEIRS - OURS
        elif strict and isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {each for each in re.findall(r"kafka(?:\.\w+)+", node.value) if _internal(each)}
    bases = {name: path for name, path in bases.items() if not _exported(path)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for base in {bases[each.id] for each in node.bases if isinstance(each, ast.Name) and each.id in bases}:
                methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef) and each.name[:2] != "__"}
                found |= {f"{base}.{name}" for name in methods if not missing(f"{base}.{name}")}
    return (found | set(bases.values())) - _OTHERS


def _exported(path: str) -> bool:
    """Return whether a documented module has the same object under the same name."""
    module, _, name = path.rpartition(".")
    here = getattr(importlib.import_module(module), name, None) if _found(module) else None
    return here is not None and any(getattr(importlib.import_module(each), name, None) is here for each in PUBLIC - {module})


def _internal(path: str) -> bool:
    """Return whether this is a module of kafka-python without a page in its documentation."""
    return path not in PUBLIC and path.split(".")[0] == "kafka" and _found(path)


def missing(path: str) -> str:
    """Return the path up to its first missing part, empty if all exist. Attributes that methods of a class assign exist."""
    parts = path.split(".")
    depth = next(depth for depth in range(len(parts), 0, -1) if depth == 1 or _found(".".join(parts[:depth])))
    here: Any = importlib.import_module(".".join(parts[:depth]))
    for at in range(depth, len(parts)):
        if not hasattr(here, parts[at]):
            assigned = inspect.isclass(here) and at == len(parts) - 1 and parts[at] in _assigned(here)
            return "" if assigned else ".".join(parts[: at + 1])
        here = getattr(here, parts[at])
    return ""


@cache
def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _assigned(kind: type) -> set[str]:
    """Return the attributes that methods of the class and its bases assign."""
    return set().union(
        *(defined(ast.parse(textwrap.dedent(inspect.getsource(each)))) for each in kind.__mro__ if each is not object)
    )


def test_each_listed_internal_exists():
    lacking = {path: missing(path) for path in INTERNALS if missing(path)}
    version = metadata.version("kafka-python")
    assert not lacking, "\n".join(
        f"kafka-python {version} has no {lack}, which reflink uses ({INTERNALS[path]}): "
        "keep the bound in pyproject.toml below this version, or change what uses it"
        for path, lack in lacking.items()
    )


def uses() -> dict[Path, set[str]]:
    return {path: used(tree, strict=path.is_relative_to(ROOT / "workers")) for path, tree in TREES}


def test_each_internal_in_use_is_listed():
    named = set(INTERNALS) | {path.rpartition(".")[2] for path in INTERNALS}
    unnamed = [f"{path.relative_to(ROOT)}: {each}" for path, found in uses().items() for each in sorted(found - named)]
    assert not unnamed, f"internals of kafka-python that INTERNALS does not name: {', '.join(unnamed)}"


def test_each_listed_internal_is_in_use():
    found = set().union(*uses().values())
    private = {path for path in INTERNALS if _PRIVATE.fullmatch(path.rpartition(".")[2])}
    assert {path.rpartition(".")[2] for path in private} <= found
    seen_through = {path for path in INTERNALS if path.endswith((".__bool__", ".connected", ".rejoining", ".request_rejoin"))}
    assert set(INTERNALS) - private - seen_through <= found


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from kafka import KafkaConsumer\nfrom kafka.errors import KafkaError\nimport kafka", set()),
        ("import kafka.cluster", {"kafka.cluster"}),
        ("from kafka.cluster import collect_hosts", {"kafka.cluster.collect_hosts"}),
        ("from kafka import cluster", {"kafka.cluster"}),
        ("def f(consumer): return consumer._coordinator", {"_coordinator"}),
        ("class A:\n    def f(self): return self._coordinator", {"_coordinator"}),
        ("class A:\n    def __init__(self): self._coordinator = 1", set()),
        ("class A:\n    def __init__(self, a): self._coordinator, self.b = 1, a._coordinator", {"_coordinator"}),
        ("consumer._fetcher._next_partition_records = None", {"_fetcher", "_next_partition_records"}),
        ("patch.setattr(consumer, '_fetcher', None)", {"_fetcher"}),
        ("logging.getLogger('kafka.net.manager')", {"kafka.net.manager"}),
        ("'kafka.apache.org', 'kafka.server:type=x', record._nothing_of_theirs", set()),
        ("from kafka.consumer.subscription_state import ConsumerRebalanceListener", set()),
        (
            "from kafka.cluster import ClusterMetadata as C\nclass A(C):\n    def topics(self): ...\n    def mine(self): ...",
            {"kafka.cluster.ClusterMetadata", "kafka.cluster.ClusterMetadata.topics"},
        ),
    ],
)
def test_the_scan_finds_each_kind_of_use(code: str, expected: set[str]):
    assert used(ast.parse(code), strict=True) == expected


@pytest.mark.parametrize(
    ("path", "lack"),
    [
        ("kafka.consumer.fetcher.Fetcher._next_partition_records", ""),
        ("kafka.consumer.fetcher.Fetcher._renamed", "kafka.consumer.fetcher.Fetcher._renamed"),
        ("kafka.consumer.moved.Fetcher._next_partition_records", "kafka.consumer.moved"),
        ("kafka.consumer.fetcher.Moved._next_partition_records", "kafka.consumer.fetcher.Moved"),
    ],
)
def test_the_first_missing_part_of_a_path_is_returned(path: str, lack: str):
    assert missing(path) == lack


def test_the_bound_excludes_the_next_minor_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (bound,) = [each for each in project["dependencies"] if each.startswith("kafka-python")]
    major, minor, *_ = metadata.version("kafka-python").split(".")
    assert f"<{major}.{int(minor) + 1}" in bound
