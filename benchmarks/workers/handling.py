"""Measure what the linker's stage costs beside Kafka: CPU microseconds per reference, by step, in one thread.

    python -m benchmarks.workers.handling --snapshot DIR [--references 4000] [--rounds 5] [--first trigrams] [--json FILE]

Real references, paper by paper, go through decoding and handling in batches of 512, without a broker. ``none`` as the first
search leaves out model and search: what identifiers and locators do not settle stays open, as if another device searched. CPU
time is independent of other load, except for shared caches, so two versions can be compared on a busy machine. The caches of
works are emptied before each round.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from benchmarks import harness
from benchmarks.machine import describe
from benchmarks.papers import real_references
from reflink.catalog import Catalog
from reflink.entities import Reference
from reflink.linking.native import NativeCandidates, TrigramsFirst
from reflink.linking.policy import Policy
from reflink.stopwatch import Stopwatch
from schemas import SCHEMA_VERSION, ReferenceEvent
from workers.config.settings import LinkerSettings
from workers.linking import linker_stage
from workers.linking.linker_stage import LinkerStage, LinkerView
from workers.records import Received
from workers.runtime.process_memory import settle

BATCH = 512


def handle(stage: LinkerStage, view: LinkerView, records: Sequence[Received]) -> dict[str, float]:
    """Handle the records once; return the CPU microseconds per reference by step."""
    spent: defaultdict[str, float] = defaultdict(float)
    for start in range(0, len(records), BATCH):
        began = time.process_time()
        events = [stage.decode(record) for record in records[start : start + BATCH]]
        spent["decode"] += time.process_time() - began
        for step, seconds in stage.handle(events, view).observed.seconds.items():
            spent[step] += seconds
    return {step: seconds / len(records) * 1e6 for step, seconds in spent.items()}


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--snapshot", type=Path, required=True, help="a catalog; with trigrams for --first trigrams")
    parser.add_argument("--references", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--first", choices=("none", "trigrams"), default="none")
    arguments = parser.parse_args(argv)
    by_trigrams = arguments.first == "trigrams"
    catalog = Catalog.open(arguments.snapshot, vectors=False, trigrams=by_trigrams)
    source = TrigramsFirst(catalog) if by_trigrams else NativeCandidates(catalog)
    view = LinkerView(source, Policy(first="trigrams" if by_trigrams else "vectors"), 0)
    records = [
        Received("references", 0, at, reference.citing.encode(), event(reference).to_json(), (), 0)
        for at, reference in enumerate(islice(real_references(1), arguments.references))
    ]
    stage = LinkerStage(LinkerSettings())
    linker_stage.__dict__["Stopwatch"] = lambda: Stopwatch(time.process_time)
    handle(stage, view, records)  # compiles
    settle()  # as the runtime does before the first batch
    rounds = []
    for _ in range(arguments.rounds):
        if (mapped := catalog.works.unchanged) is not None:
            mapped.forget()
        rounds.append(handle(stage, view, records))
    steps = {step: statistics.median(each[step] for each in rounds) for step in rounds[0]}
    own = statistics.median(sum(each.values()) - each.get("search", 0.0) for each in rounds)
    print(f"{len(records):,} references, {len(catalog):,} works, first search {arguments.first}; {describe()}")
    print("CPU us a reference: " + ", ".join(f"{step} {value:.1f}" for step, value in steps.items()))
    print(f"all but the search {own:.1f} us (medians of {arguments.rounds} rounds)")
    harness.save(arguments.json, {"works": len(catalog), "steps": steps, "own": own})
    return 0


def event(reference: Reference) -> ReferenceEvent:
    """Return a reference as the parser publishes it."""
    return ReferenceEvent(
        schema_version=SCHEMA_VERSION, citing=reference.citing, paper_version=1, arrived=0, reference=reference
    )


if __name__ == "__main__":
    raise SystemExit(main())
