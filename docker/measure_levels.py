"""Compare kernels compiled for processor levels with those for this processor: ``python docker/measure_levels.py [LEVEL...]``.

Each level has its own process. It compiles once (about half a minute of processor time) and then measures whenever its turn
comes. The levels take turns, so that other load on the machine affects all of them. Times are processor time of one thread,
the minimum of all rounds. Vectors are random; texts and references come from the examples.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
NATIVE: Final = "native"
ROUNDS: Final = 10
ROWS, DIM, QUERIES = 50_000, 384, 64
TEXTS: Final = 20_000

Steps = dict[str, Callable[[], object]]


def shortest(run: Callable[[], object], times: int = 3) -> float:
    """Return the milliseconds of this thread's processor time: the minimum of ``times`` calls."""
    spent = []
    for _ in range(times):
        began = time.thread_time()
        run()
        spent.append((time.thread_time() - began) * 1e3)
    return min(spent)


def steps() -> Steps:
    """Return the steps to measure, with the kernels that the environment selects."""
    sys.path.insert(0, str(ROOT / "docker" / "steps"))
    import kernels  # type: ignore[import-not-found, unused-ignore]
    import numpy as np

    kernels.see_target()

    from reflink import jats
    from reflink.catalog.reading import read_works
    from reflink.entities import Reference, Work
    from reflink.lexical import LexicalIndex
    from reflink.semantic.index import VectorIndex
    from reflink.text import normalise
    from reflink.verdict.batch import compare_all

    rng = np.random.default_rng(1)
    index = VectorIndex(DIM)
    vectors = rng.standard_normal((ROWS, DIM)).astype(np.float32)
    index.add([f"w{row:06}" for row in range(ROWS)], vectors)
    queries = vectors[:QUERIES] + rng.standard_normal((QUERIES, DIM)).astype(np.float32) / 2

    papers = [path.read_bytes() for path in sorted((ROOT / "examples/papers/1-first").glob("*.xml"))]
    references: list[Reference] = [each for paper in papers for each in jats.parse(paper).references]
    works = [each for each in read_works(ROOT / "examples/works.jsonl") if isinstance(each, Work)]
    pairs = np.array([(row, col) for row in range(len(references)) for col in range(0, len(works), 20)], np.int64)

    words = " ".join(work.title or "" for work in works).split()
    texts = [normalise(" ".join(chosen), lexical=True) for chosen in rng.choice(words, (TEXTS, 14))]
    lexical = LexicalIndex("T")
    lexical.add([f"w{row:06}" for row in range(len(texts))], texts)
    wanted = texts[:QUERIES]
    return {
        f"vectors: {QUERIES} queries, {ROWS:,} works": lambda: index.search(queries, 2),
        f"vectors: 1 query, {ROWS:,} works": lambda: index.search(queries[:1], 2),
        f"trigrams: {QUERIES} queries, {TEXTS:,} works": lambda: list(lexical.search(wanted, 2)),
        f"verdict: {len(pairs):,} pairs": lambda: compare_all(references, works, pairs),
        f"parser: {len(papers)} papers": lambda: [jats.parse(paper) for paper in papers],
    }


def answer() -> None:
    """Print a line when all kernels are compiled, then a line of milliseconds for each input line."""
    every = steps()
    print(json.dumps({name: shortest(run, 1) for name, run in every.items()}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({name: shortest(run) for name, run in every.items()}), flush=True)


def started(level: str, cache: Path) -> subprocess.Popen[str]:
    """Start the process of a level."""
    named = {} if level == NATIVE else {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
    variables = {**os.environ, **named, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, __file__, "--here"]
    return subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def next_times(process: subprocess.Popen[str]) -> dict[str, float]:
    """Read the next line of a level's process. Raises SystemExit if there is none; the process printed the reason."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"measure_levels.py: a level's process ended with exit code {process.wait()}")
    milliseconds: dict[str, float] = json.loads(line)
    return milliseconds


def main(levels: list[str]) -> None:
    """Measure all levels and print a table."""
    every = [NATIVE, *levels]
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as caches, ExitStack() as running:
        processes: dict[str, subprocess.Popen[str]] = {}
        for level in every:
            processes[level] = running.enter_context(started(level, Path(caches, level)))
            running.callback(processes[level].kill)
            next_times(processes[level])
            print(f"{level}: compiled", file=sys.stderr)
        for _ in range(ROUNDS):
            for level, process in processes.items():
                assert process.stdin is not None
                print(file=process.stdin, flush=True)
                for step, spent in next_times(process).items():
                    row = found.setdefault(step, {})
                    row[level] = min(spent, row.get(level, spent))
    print(f"{'ms':44}" + "".join(f"{level:>12}" for level in every))
    for step, row in found.items():
        print(f"{step:44}" + "".join(f"{row[level]:12.2f}" for level in every))


if __name__ == "__main__":
    if sys.argv[1:] == ["--here"]:
        answer()
    else:
        main(sys.argv[1:] or ["x86-64-v4", "x86-64-v3"])
