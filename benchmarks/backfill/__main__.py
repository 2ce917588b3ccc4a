"""Measure a backfill on a Spark cluster of this machine: time and cost of each step, and its outcomes against the linker's.

    python -m benchmarks.backfill --catalog DIR [--papers FOLDER] [--workers 2] [--keys-only] [--check 3000] [--json FILE]

``--catalog``: a snapshot without vectors of the works (`reflink catalog build --no-vectors`). ``--papers``: by default the real
articles of the shared data. ``--keys-only``: the works of the snapshot without its trigrams, as with `reflink-spark --works`.
Each worker has one core. CPU is the time of workers, executors and their Python processes, without the driver; unlike seconds
it hardly depends on other work on the machine. Exit code 1 if one of ``--check`` outcomes differs from that of the linker over
the same catalog.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet

from benchmarks import harness
from benchmarks.machine import describe
from reflink.catalog import Catalog
from reflink.cli.inputs import read_papers
from reflink.entities import Paper, Reference
from reflink.linking.linker import Linker
from tests.data import jats_folder
from tests.spark import Cluster
from workers.backfill.deciding import COLUMNS, outcome

_STEP: Final = re.compile(r"(\w+): ([\d,]+) rows, ([\d.]+) s")


def measure(cluster: Cluster, arguments: Sequence[str]) -> list[dict[str, Any]]:
    """Run a backfill; return its steps with rows, seconds and CPU seconds. Raises RuntimeError if it fails."""
    steps, lines, before = [], [], cluster.cpu_seconds()
    with cluster.start("link", *arguments) as process:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            if found := _STEP.match(line):
                now = cluster.cpu_seconds()
                steps.append({
                    "step": found[1], "rows": int(found[2].replace(",", "")), "seconds": float(found[3]), "cpu": now - before,
                })  # fmt: skip
                before = now
    if process.returncode not in (0, 1):
        raise RuntimeError("".join(lines[-20:]))
    return steps


def differing(out: Path, papers: str, linker: Linker, number: int) -> tuple[int, float]:
    """Return how many of ``number`` references, chosen at random, have another outcome than the linker gives them.

    Also return the linker's CPU seconds per reference.
    """
    every = [each for _, paper in read_papers([papers]) if isinstance(paper, Paper) for each in paper.references]
    references: list[Reference] = [*{each.id: each for each in every}.values()]
    chosen = random.Random(1).sample(references, min(number, len(references)))
    table = pyarrow.parquet.read_table(out / "outcomes").to_pylist()
    found = {row["reference"]: tuple(row[name] for name in COLUMNS) for row in table}
    linker.link(chosen[:512])  # kernels are loaded once
    began = time.process_time()
    links = [link for start in range(0, len(chosen), 512) for link in linker.link(chosen[start : start + 512])]
    took = (time.process_time() - began) / len(chosen)
    return sum(found.get(link.reference) != outcome(link) for link in links), took


def main() -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--catalog", type=Path, required=True, metavar="DIR")
    parser.add_argument("--papers", metavar="FOLDER", help="default: the real articles")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keys-only", action="store_true")
    parser.add_argument("--check", type=int, default=3000, metavar="N")
    arguments = parser.parse_args()
    papers = arguments.papers or str(jats_folder())
    catalog = Catalog.open(arguments.catalog, vectors=False)
    print(describe())
    with tempfile.TemporaryDirectory() as folder:
        out, works = Path(folder) / "out", Path(folder) / "works.jsonl"
        given = ("--catalog", str(arguments.catalog))
        if arguments.keys_only:
            works.write_bytes(b"".join(work.to_json() + b"\n" for work in catalog))
            given = ("--works", str(works))
            catalog = Catalog(catalog.works, None, None, catalog.manifest)
        with Cluster(Path(folder) / "spark", workers=arguments.workers) as cluster:
            steps = measure(cluster, ("--papers", papers, *given, "--out", str(out)))
        wrong, alone = differing(out, papers, Linker(catalog), arguments.check)
        methods = pyarrow.parquet.read_table(out / "outcomes", columns=["method"])["method"].to_pylist()
    references = next(each["rows"] for each in steps if each["step"] == "references")
    print(f"{references} references, {len(catalog)} works, {arguments.workers} workers of one core")
    print(f"{'step':<12} {'rows':>9} {'s':>8} {'CPU s':>8}  core-hours per million references")
    total = {"step": "all", "rows": references, **{name: sum(each[name] for each in steps) for name in ("seconds", "cpu")}}
    for each in (*steps, total):
        cost = each["cpu"] / 3600 / references * 1e6
        print(f"{each['step']:<12} {each['rows']:>9} {each['seconds']:>8.1f} {each['cpu']:>8.1f}  {cost:.2f}")
    print(f"the linker alone, in one process, without reading works and papers: {alone / 3600 * 1e6:.2f}")
    print("links by", dict(Counter(str(each) for each in methods).most_common()))
    print(f"{wrong} of {min(arguments.check, references)} outcomes differ from the linker's")
    harness.save(
        arguments.json, {"references": references, "works": len(catalog), "steps": steps, "alone": alone, "differ": wrong}
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
