"""What kernels made for a level of processors cost beside those for this one: ``python docker/measure_levels.py [LEVEL...]``.

Each level in a process of its own, in turn and several times over; processor time of one thread, the least of all rounds. First
compiles, which takes a minute for each. Vectors are random, texts and references those of the examples.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
NATIVE: Final = "native"
ROUNDS: Final = 3
ROWS, DIM, QUERIES = 50_000, 384, 64


def least(run: Callable[[], object], times: int = 5) -> float:
    """Milliseconds of this thread."""
    run()
    spent = []
    for _ in range(times):
        began = time.thread_time()
        run()
        spent.append((time.thread_time() - began) * 1e3)
    return min(spent)


def measure() -> dict[str, float]:
    """Milliseconds by step, with the kernels that the environment asks for."""
    sys.path.insert(0, str(ROOT / "docker" / "build"))
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
    asked = vectors[:QUERIES] + rng.standard_normal((QUERIES, DIM)).astype(np.float32) / 2

    papers = [path.read_bytes() for path in sorted((ROOT / "examples/papers/1-first").glob("*.xml"))]
    references: list[Reference] = [each for paper in papers for each in jats.parse(paper).references]
    works = [each for each in read_works(ROOT / "examples/works.jsonl") if isinstance(each, Work)]
    pairs = np.array([(row, col) for row in range(len(references)) for col in range(0, len(works), 20)], np.int64)

    words = " ".join(work.title or "" for work in works).split()
    texts = [normalise(" ".join(rng.choice(words, 14)), lexical=True) for _ in range(20_000)]
    lexical = LexicalIndex("T")
    lexical.add([f"w{row:06}" for row in range(len(texts))], texts)
    wanted = texts[:QUERIES]
    return {
        f"vectors: {QUERIES} queries, {ROWS:,} works": least(lambda: index.search(asked, 2)),
        f"vectors: 1 query, {ROWS:,} works": least(lambda: index.search(asked[:1], 2)),
        f"trigrams: {QUERIES} queries, 20,000 works": least(lambda: list(lexical.search(wanted, 2))),
        f"verdict: {len(pairs):,} pairs": least(lambda: compare_all(references, works, pairs)),
        f"parser: {len(papers)} papers": least(lambda: [jats.parse(paper) for paper in papers]),
    }


def main(levels: list[str]) -> None:
    """Prints a table."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as caches:
        for number in range(ROUNDS):
            for level in (NATIVE, *levels):
                named = {} if level == NATIVE else {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
                variables = {**os.environ, **named, "NUMBA_CACHE_DIR": f"{caches}/{level}"}
                told = subprocess.run(
                    [sys.executable, __file__, "--here"], env=variables, capture_output=True, text=True, check=True
                )
                print(f"round {number + 1}, {level}", file=sys.stderr)
                for step, spent in json.loads(told.stdout).items():
                    row = found.setdefault(step, {})
                    row[level] = min(spent, row.get(level, spent))
    print(f"{'ms':44}" + "".join(f"{level:>12}" for level in (NATIVE, *levels)))
    for step, row in found.items():
        print(f"{step:44}" + "".join(f"{row[level]:12.1f}" for level in (NATIVE, *levels)))


if __name__ == "__main__":
    if sys.argv[1:] == ["--here"]:
        print(json.dumps(measure()))
    else:
        main(sys.argv[1:] or ["x86-64-v4", "x86-64-v3"])
