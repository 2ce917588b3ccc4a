"""Measure how many faults the tests find: change one operator or constant at a time and run the tests that execute it.

python -m tests.mutation workers/runtime workers/ledger reflink/verdict --mutants 200 --seed 1

A first run of the tests records the lines that each test executes. The same number of mutants is drawn from each argument: a
folder, a module, or several of them separated by commas. The tests that execute the line of a mutant run in a copy of the
checkout, the fastest module first. A mutant is killed if a test fails or does not end. A mutant that no test executes survives.
Lines in other processes and in compiled kernels are not recorded: the test module with the name of the mutated module runs
always, and for a mutant in a kernel all tests of the folder that mirrors its package.

Tests marked ``full`` do not run, and tests with a Kafka broker only with ``--broker``: a mutant that only they kill survives.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from itertools import zip_longest
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[1]
#: Packages that the tests import; imported once, before the process of each mutant is forked.
_PRELOADED: Final = (
    "hypothesis",
    "kafka",
    "lxml.etree",
    "numba",
    "orjson",
    "prometheus_client",
    "pydantic_settings",
    "rocksdict",
)
_SWAPPED: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
#: Fixtures with Kafka brokers.
_BROKER: Final = {"broker", "cluster", "kafka", "own"}
#: Calls whose effect no test checks, with their arguments: log lines.
_IGNORED: Final = ("log.", "_log.", "logger.", "logging.", "warnings.")


def mutated(node: ast.AST) -> ast.AST | None:
    """Return a changed copy of the node; None if no rule applies to it."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[operator]) if type(operator) in _SWAPPED:
            new.ops = [_SWAPPED[type(operator)]()]  # type: ignore[list-item]
        case ast.BoolOp(op=operator) | ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in _SWAPPED:
            new.op = _SWAPPED[type(operator)]()  # type: ignore[assignment]
        case ast.UnaryOp(op=ast.Not()):
            return new.operand
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int(value)):
            new.value = value + 1
        case ast.Expr(value=ast.Call()):
            return ast.Pass()
        case _:
            return None
    return new


def sites(tree: ast.Module) -> Iterator[Any]:
    """Yield the nodes within functions that a rule changes, without annotations, decorators and log lines."""
    pending: list[ast.AST] = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen or (isinstance(node, ast.Expr) and ast.unparse(node).startswith(_IGNORED)):
            continue
        seen.add(id(node))
        if mutated(node) is not None:
            yield node
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list", "args" if isinstance(node, ast.FunctionDef) else ""):
                pending += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST)]


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


class _Tests:
    """A plugin of pytest that runs the tests of a list; without a list all tests, recording the lines that each executes."""

    def __init__(self, modules: set[str], selected: list[str] | None = None, *, broker: bool = False) -> None:
        self.modules, self.selected, self.broker = modules, selected, broker
        self.current = self.failed = ""
        self.seconds: Counter[str] = Counter()
        self.unusable: set[str] = set()
        self.lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        #: Fixtures that several tests share: the lines count for each of these tests.
        self.shared: set[tuple[str, str]] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        if self.selected is not None:
            rank = {name: number for number, name in enumerate(self.selected)}
            items[:] = sorted((each for each in items if each.nodeid in rank), key=lambda each: rank[each.nodeid])
            return
        items[:] = [each for each in items if not each.get_closest_marker("full")]
        if not self.broker:
            items[:] = [each for each in items if _BROKER.isdisjoint(each.fixturenames)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Generator[None, object, object]:
        self.current = item.nodeid
        if self.selected is None:
            threading.settrace(self._trace)
            sys.settrace(self._trace)
        result = yield
        for fixture, base in self.shared:
            if fixture in item.fixturenames and item.nodeid.startswith(base):
                self.lines[item.nodeid] |= self.lines[f"{base} {fixture}"]
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        before = self.current
        if fixturedef.scope != "function":
            self.shared.add((fixturedef.argname, fixturedef.baseid))
            self.current = f"{fixturedef.baseid} {fixturedef.argname}"
        try:
            return (yield)
        finally:
            self.current = before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.unusable.add(report.nodeid)
            self.failed = self.failed or (report.nodeid if report.failed else "")

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in self.modules:
            return None
        self.lines[self.current].add((frame.f_code.co_filename, frame.f_lineno))
        return self._trace


def _run(checkout: Path, kernels: Path, arguments: list[str], tests: _Tests, sender: Connection) -> None:
    """Run pytest in this process, the leader of a new group, and send its exit code and the results."""
    os.setsid()
    os.chdir(checkout)
    sys.path[0] = str(checkout)
    os.environ["NUMBA_CACHE_DIR"] = sys.modules["numba"].config.CACHE_DIR = str(kernels)
    output = os.open(checkout.parent / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    del sys.modules["tests"]  # this checkout's: the copy may be another's
    sys.modules["__main__"] = ModuleType("__main__")
    code = int(pytest.main(["-q", "-p", "no:cacheprovider", *arguments], plugins=[tests]))
    sys.settrace(None)
    sender.send((code, tests.failed, dict(tests.seconds), tests.unusable, dict(tests.lines)))


def run(timeout_s: float | None, *arguments: object) -> Any:
    """Return what ``_run`` sends from a forked process; None if it does not end in time or crashes."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_run, args=(*arguments, sender))
    child.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(timeout_s) else None
    except EOFError:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid or 0, signal.SIGKILL)
        child.join()


def ordered(tests: list[str], seconds: dict[str, float]) -> list[str]:
    """Return the tests grouped by module, the fastest module first."""
    spent: Counter[str] = Counter()
    for test in tests:
        spent[test.partition("::")[0]] += seconds[test]
    return sorted(tests, key=lambda test: spent[test.partition("::")[0]])


def drawn(arguments: list[str], root: Path, count: int, seed: int) -> list[tuple[str, Path, ast.Module, Any]]:
    """Return a sample of sites with their argument, module and tree: in turn one of each argument."""
    samples = []
    for argument in arguments:
        paths = [root / each for each in argument.split(",")]
        modules = [module for each in paths for module in (sorted(each.rglob("*.py")) if each.is_dir() else [each])]
        trees = [(module, ast.parse(module.read_text())) for module in modules]
        every = [(argument, module, tree, node) for module, tree in trees for node in sites(tree)]
        print(f"{argument.partition(',')[0]}: {len(every)} possible mutants", flush=True)
        samples.append(random.Random(seed).sample(every, min(-(-count // len(arguments)), len(every))))
    return [each for turn in zip_longest(*samples) for each in turn if each][:count]


def main() -> int:
    """Run the command; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", help="folders or modules to mutate, such as workers/runtime")
    parser.add_argument("--mutants", type=int, default=200, help="size of the sample (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="+", default=["tests/workers", "tests/reflink"], help="the tests to run")
    parser.add_argument("--broker", action="store_true", help="also run the tests that need a Kafka broker")
    parser.add_argument("--json", type=Path, help="write every mutant with its result to this file")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to examine (default: this one)")
    options = parser.parse_args()
    root: Path = options.root.resolve()
    sample = drawn(options.folders, root, options.mutants, options.seed)
    os.environ.update(REFLINK_TEST_TIER="dev", PYTHONDONTWRITEBYTECODE="1")
    for package in _PRELOADED:
        importlib.import_module(package)
    results: list[dict[str, object]] = []
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory(prefix="reflink-mutation-") as temporary:
        copied, kernels = Path(temporary) / "checkout", Path(temporary) / "kernels"
        shutil.copytree(root, copied, ignore=shutil.ignore_patterns(".*", "__pycache__", "build"))
        for link in (".cache", ".venv"):
            (copied / link).symlink_to((ROOT / link).resolve())
        os.environ["PYTHONPATH"] = str(copied)
        recorded = _Tests({str(copied / module.relative_to(root)) for _, module, _, _ in sample}, broker=options.broker)
        _, _, seconds, unusable, lines = run(None, copied, kernels, options.tests, recorded)
        if not seconds:
            parser.error("no test was found")
        sys.dont_write_bytecode = True
        print(f"{len(seconds)} tests in {sum(seconds.values()):.0f} s; {len(unusable)} failed or skipped", flush=True)
        for number, (folder, module, tree, node) in enumerate(sample, 1):
            relative, new = module.relative_to(root), mutated(node)
            assert new is not None
            target, cache = copied / relative, kernels
            places = {(str(target), line) for line in range(node.lineno, node.end_lineno + 1)}
            # A test that executes the line in another process has the name of the module.
            found = {name for name in seconds if places & lines.get(name, set()) or f"/test_{module.stem}.py::" in name}
            if "numba.njit" in module.read_text():
                mirrored = next(each for each in (Path("tests") / relative).parents if (root / each).is_dir())
                found = {name for name in seconds if name.startswith(f"{mirrored}/")}
                # numba does not compile a function again when a function that it calls changes in another file.
                cache = Path(temporary) / f"kernels-{number}"
            tests = ordered([name for name in seconds if name in found - unusable], seconds)
            result, killer = "not executed", ""
            if tests:
                _Replace(node, new).visit(tree)
                target.write_text(ast.unparse(ast.fix_missing_locations(tree)))
                _Replace(new, node).visit(tree)
                spent = [seconds[name] for name in tests]
                files = dict.fromkeys(name.partition("::")[0] for name in tests)
                arguments = [*files, "-x", f"--timeout={60 + 5 * max(spent):.0f}"]
                answer = run(120 + 5 * sum(spent), copied, cache, arguments, _Tests(set(), tests))
                shutil.copy2(module, target)
                code, killer, *_ = answer or (1, "no end")
                result = "survived" if code in (0, 5) else "killed"
            counted[folder][result] += 1
            change = f"{ast.unparse(node)} -> {ast.unparse(new)}"
            results.append({"module": str(relative), "line": node.lineno, "result": result, "change": change, "by": killer})
            print(f"{number}/{len(sample)}", *results[-1].values(), flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1))
    for folder, counts in counted.items():
        killed, count = counts["killed"], counts.total()
        print(f"{folder}: {killed} of {count} mutants killed ({killed / count:.0%}); {counts['not executed']} not executed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
