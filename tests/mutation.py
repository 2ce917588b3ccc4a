"""Measure how many faults the tests find: change one operator or constant at a time and run the tests of the module.

python -m tests.mutation workers/runtime workers/ledger reflink/verdict --mutants 200 --seed 1

A sample of mutants is drawn evenly from all possible changes in these folders. Each is written into a copy of the checkout,
where the test modules run that have the name of the mutated module or import it, else those of its folder. A mutant is killed
if a test fails or does not end.
Tests that need a Kafka broker are left out unless ``--broker`` is given: a mutant that only they kill counts as survived.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
#: A mutant whose tests take longer than this many seconds counts as killed.
TIMEOUT_S: Final = 300.0
_SWAPPED: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
#: Calls without an effect that a test should see.
_IGNORED: Final = ("log.", "logging.", "warnings.")
#: A plugin of pytest that leaves out the tests that use a broker.
_WITHOUT_BROKER: Final = """
def pytest_collection_modifyitems(config, items):
    kept = [each for each in items if not {"broker", "cluster", "kafka"} & set(getattr(each, "fixturenames", ()))]
    config.hook.pytest_deselected(items=[each for each in items if each not in kept])
    items[:] = kept
"""


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
        case ast.Expr(value=ast.Call(func=function)) if not ast.unparse(function).startswith(_IGNORED):
            return ast.Pass()
        case _:
            return None
    return new


def sites(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes within functions that a rule changes, without annotations and decorators."""
    pending: list[ast.AST] = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
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


def tests_of(module: Path, root: Path) -> list[str]:
    """Return the test modules with the module's name in the folder that mirrors its package, then all that import the module.

    Without any, return that folder.
    """
    dotted = ".".join(module.with_suffix("").parts)
    package, _, stem = dotted.rpartition(".")
    used = re.compile(rf"\b{re.escape(dotted)}\b|from {re.escape(package)} import [^\n]*\b{re.escape(stem)}\b")
    mirrored = next(each for each in (root / "tests" / module).parents if each.is_dir())
    named = sorted(mirrored.rglob(f"test_{stem}*.py"))
    files = sorted((root / "tests").rglob("test_*.py"))
    importing = [each for each in files if each not in named and used.search(each.read_text())]
    return [str(each.relative_to(root)) for each in ((*named, *importing) or [mirrored])]


def main() -> int:
    """Run the command; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", help="folders or modules to mutate, such as workers/runtime")
    parser.add_argument("--mutants", type=int, default=200, help="size of the sample (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broker", action="store_true", help="also run the tests that need a Kafka broker")
    parser.add_argument("--json", type=Path, help="write every mutant with its result to this file")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to examine (default: this one)")
    options = parser.parse_args()
    root: Path = options.root.resolve()
    modules = [
        module
        for each in options.folders
        for module in (sorted((root / each).rglob("*.py")) if (root / each).is_dir() else [root / each])
    ]
    trees = {module: ast.parse(module.read_text()) for module in modules}
    every = [(module, node) for module, tree in trees.items() for node in sites(tree)]
    sample = random.Random(options.seed).sample(every, min(options.mutants, len(every)))
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="reflink-mutation-") as temporary:
        copied, plugins = Path(temporary) / "checkout", Path(temporary) / "plugins"
        shutil.copytree(root, copied, ignore=shutil.ignore_patterns(".*", "__pycache__", "build"))
        for link in (".cache", ".venv"):
            (copied / link).symlink_to((root / link).resolve())
        plugins.mkdir()
        (plugins / "without_broker.py").write_text(_WITHOUT_BROKER)
        for number, (module, node) in enumerate(sample, 1):
            relative = module.relative_to(root)
            new = mutated(node)
            assert new is not None
            tree = trees[module]
            mutant = _Replace(node, new).visit(tree)
            target = copied / relative
            try:
                target.write_text(ast.unparse(ast.fix_missing_locations(mutant)))
                # numba does not compile a function again when a function that it calls changes in another file.
                compiled = Path(temporary) / (f"kernels-{number}" if relative.parts[0] == "reflink" else "kernels")
                found = run(copied, plugins, compiled, tests_of(relative, copied), broker=options.broker)
            finally:
                _Replace(new, node).visit(tree)
                target.write_text(module.read_text())
            line = getattr(node, "lineno", 0)
            results.append(
                {"module": str(relative), "line": line, "old": ast.unparse(node), "new": ast.unparse(new), "result": found}
            )
            print(
                f"{number}/{len(sample)} {found:8} {relative}:{line}  {ast.unparse(node)[:50]} -> {ast.unparse(new)[:50]}",
                flush=True,
            )
    counted = Counter(str(each["result"]) for each in results)
    share = counted["killed"] / max(1, len(results))
    print(f"{counted['killed']} of {len(results)} mutants killed ({share:.1%}), of {len(every)} possible")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 0


def run(checkout: Path, plugins: Path, compiled: Path, tests: list[str], *, broker: bool) -> str:
    """Return ``killed`` or ``survived``."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    if not broker:
        command += ["-p", "without_broker"]
    environment = {**os.environ, "PYTHONPATH": str(plugins), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(compiled)}
    try:
        code = subprocess.run(
            command, cwd=checkout, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return "killed"
    return "survived" if code in (0, 5) else "killed"  # 5: no test was left


if __name__ == "__main__":
    sys.exit(main())
