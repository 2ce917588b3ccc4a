"""Measure the cost of the verdict's evidence: microseconds per reference and pair on one core.

    python -m benchmarks.linking.verdict [--references FILE --works FILE] [--queries 2000] [--batch 64] [--rounds 5]
        [--json FILE]

Pairs are real queries with the candidates of both stages in the whole catalog, found once and kept under .cache. Records are
decoded again for each batch and round, as a worker receives them from a topic and the catalog, and nothing is prepared for
them. Times are processor time of one thread: medians of the rounds, and the minimum. On a machine with other load they are too
high, never too low. First use is measured in a separate process, with the kernels compiled before.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.machine import describe
from reflink.entities import Reference, Work
from reflink.evaluation.records import read_queries, read_works, without_identifiers
from reflink.evaluation.run import build_catalog, default_encoder
from reflink.linking.linker import propose
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.verdict.batch import compare_deposits, compare_identifiers, compare_untitled, settle_marks
from reflink.verdict.kernels.comparing import fill
from reflink.verdict.kernels.gathering import gather
from reflink.verdict.kernels.packing import pack
from reflink.verdict.kernels.points import log_odds
from reflink.verdict.scorecard import FEATURES
from tests.data import CACHE

_PROPOSED_AT_ONCE: Final = 256
_MICRO: Final = 1e6

_FIRST_USE: Final = """
import time, json, numpy as np
from reflink import Reference, Work
import reflink.verdict
laps = [time.perf_counter()]
from reflink.verdict.batch import compare_all
from reflink.verdict.kernels.points import log_odds
from reflink.verdict.scorecard import FEATURES
laps.append(time.perf_counter())
pairs = np.zeros((1, 2), np.int64)
for title in ("Wheat", "Wheat", "".join(map(chr, range(0x370, 0x2000))), "".join(map(chr, range(0x370, 0x2000)))):
    reference = Reference(id="c#1", citing="c", position=1, title=title, raw_text="Smith J. Wheat. 2009")
    log_odds(compare_all([reference], [Work(id="w", title=title)], pairs), np.zeros((4, len(FEATURES) + 1)))
    laps.append(time.perf_counter())
print(json.dumps([b - a for a, b in zip(laps, laps[1:])]))
"""


class Batch(NamedTuple):
    """References and works as JSON, and the pairs to compare."""

    references: list[bytes]
    works: list[bytes]
    pairs: np.ndarray[Any, np.dtype[np.int64]]


def proposals(references: Sequence[Reference], works: dict[str, Work], path: Path) -> list[list[str]]:
    """Return the candidates of the stages for each query, read from ``path`` if it exists."""
    if not path.exists():
        encoder = default_encoder(CACHE / "vectors")
        catalog = build_catalog(list(works.values()), encoder)
        found: list[list[str]] = []
        for start in range(0, len(references), _PROPOSED_AT_ONCE):
            found += map(
                list, propose(references[start : start + _PROPOSED_AT_ONCE], NativeCandidates(catalog, encoder), Policy())
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
    kept: list[list[str]] = json.loads(path.read_text())
    return kept


def batches(references: Sequence[Reference], proposed: Sequence[list[str]], works: dict[str, Work], size: int) -> list[Batch]:
    """Return batches of ``size`` references; a work that several references share is in a batch once."""
    made = []
    for start in range(0, len(references), size):
        place: dict[str, int] = {}
        near = proposed[start : start + size]
        pairs = [(row, place.setdefault(id_, len(place))) for row, ids in enumerate(near) for id_ in ids]
        if pairs:
            held = [works[id_].to_json() for id_ in place]
            made.append(Batch([each.to_json() for each in references[start : start + size]], held, np.array(pairs, np.int64)))
    return made


def decoded(batch: Batch) -> tuple[list[Reference], list[Work]]:
    """Decode the batch into new records."""
    return [Reference.from_json(each) for each in batch.references], [Work.from_json(each) for each in batch.works]


def compiled(parts: Sequence[Batch], weights: Any) -> dict[str, float]:
    """Return the seconds of each step for all batches."""
    spent = dict.fromkeys(("gathering", "preparing", "comparing", "the rest", "points"), 0.0)
    for batch in parts:
        references, works = decoded(batch)
        began = time.thread_time()

        def lap(step: str) -> None:
            nonlocal began
            now = time.thread_time()
            spent[step] += now - began
            began = time.thread_time()

        gathered, untitled = gather(references, works)
        lap("gathering")
        packed = pack(gathered)
        lap("preparing")
        settle_marks(packed, references, works)
        pairs = batch.pairs + np.array([0, len(references)])
        lap("the rest")
        rows = fill(packed, pairs, gathered.groups)
        lap("comparing")
        compare_untitled(rows, untitled, works, batch.pairs)
        compare_deposits(rows, references, works, batch.pairs)
        compare_identifiers(rows, references, works, batch.pairs)
        lap("the rest")
        log_odds(rows, weights)
        lap("points")
    return spent


def measure(parts: list[Batch], rounds: int) -> dict[str, Any]:
    """Return microseconds per reference, by step, and per pair."""
    references, pairs = sum(len(part.references) for part in parts), sum(len(part.pairs) for part in parts)
    weights = np.random.default_rng(1).normal(size=(4, len(FEATURES) + 1))
    runs = [compiled(parts, weights) for _ in range(rounds + 1)][1:]  # the first round warms up
    totals = [sum(run.values()) * _MICRO / references for run in runs]
    return {
        "references": references, "pairs": pairs, "pairs_a_reference": pairs / references,
        "steps_us": {step: statistics.median(run[step] for run in runs) * _MICRO / references for step in runs[0]},
        "reference_us": statistics.median(totals), "least_reference_us": min(totals),
        "pair_us": statistics.median(totals) * references / pairs,
    }  # fmt: skip


def first_use() -> dict[str, float]:
    """Return seconds in a new process: import, first call, and a call with 7,000 new characters."""
    run = partial(subprocess.run, [sys.executable, "-c", _FIRST_USE], check=True, capture_output=True, text=True)
    run()  # compiles, if the kernels are not cached
    laps = json.loads(run().stdout)
    return {"import_s": laps[0], "first_call_s": laps[1], "second_call_s": laps[2], "new_letters_s": laps[3] - laps[4]}


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    harness.add_protocol(parser)
    parser.add_argument("--queries", type=int, default=2000, help="number of queries, evenly spread")
    parser.add_argument("--batch", type=int, default=64, help="references compared at once")
    parser.add_argument("--rounds", type=int, default=5, help="runs, besides one to warm up")
    arguments = parser.parse_args(argv)
    works = {listing.work.id: listing.work for listing in read_works(arguments.works)}
    tagged = [without_identifiers(query.reference) for query in read_queries(arguments.references)]
    tagged = tagged[:: max(1, len(tagged) // arguments.queries)]
    written = [Reference(id=each.id, citing=each.citing, position=each.position, raw_text=each.raw_query) for each in tagged]
    measured: dict[str, Any] = {}
    for name, references in (("tagged", tagged), ("raw_only", written)):
        path = CACHE / "verdict" / f"{arguments.references.name}-{arguments.works.name}-{len(tagged)}-{name}.json"
        proposed = proposals(references, works, path)
        measured[name] = measure(batches(references, proposed, works, arguments.batch), arguments.rounds)
    measured["first_use"] = first_use()
    measured["about"] = {"machine": describe(), "batch": arguments.batch, "rounds": arguments.rounds}
    show(measured)
    harness.save(arguments.json, measured)
    return 0


def show(measured: dict[str, Any]) -> None:
    """Print the figures as tables."""
    console = Console(width=120)
    console.print(measured["about"]["machine"])
    table = Table("us a reference")
    kinds = [name for name in measured if "steps_us" in measured[name]]
    for name in kinds:
        table.add_column(f"{name}, {measured[name]['pairs_a_reference']:.1f} candidates", justify="right")
    for step in measured[kinds[0]]["steps_us"]:
        table.add_row(step, *(f"{measured[name]['steps_us'][step]:.1f}" for name in kinds))
    for label, key in (
        ("all", "reference_us"), ("minimum of the rounds", "least_reference_us"), ("a pair", "pair_us"),
    ):  # fmt: skip
        table.add_row(label, *(f"{measured[name][key]:.1f}" for name in kinds))
    console.print(table)
    laps = measured["first_use"]
    console.print(
        ", ".join(f"{name.removesuffix('_s').replace('_', ' ')} {value * 1000:.1f} ms" for name, value in laps.items())
    )


if __name__ == "__main__":
    sys.exit(main())
