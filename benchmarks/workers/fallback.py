"""Measure the fallback in process: the share of real references that reach it, the cost of one, and the cores needed.

    python -m benchmarks.workers.fallback --snapshot DIR [--references 10000] [--profile production] [--json FILE]

Real references, paper by paper in a random order, go through the semantic step. The references that it leaves open go through
the lexical step in batches, on one thread: trigram search (with the semantic candidates as seeds), then the verdict. Cores for
1,000 references/s are share x seconds x 1,000. Reading and writing Kafka is not included: the linker's own figures show its
cost (benchmarks/workers/linker.py). The second line is for the same references without their identifiers.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.machine import describe
from benchmarks.papers import real_references
from reflink.catalog import Catalog
from reflink.entities import Reference
from reflink.evaluation.records import without_identifiers
from reflink.linking.candidates import Candidates
from reflink.linking.linker import lexical_step, semantic_step
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Open, Policy
from reflink.semantic import Encoder
from reflink.stopwatch import Stopwatch

BATCH = 64


def opens_of(references: Sequence[Reference], source: Candidates, policy: Policy) -> list[Open]:
    """Return the references that the semantic step leaves to the fallback."""
    settled = []
    for first in range(0, len(references), 512):
        settled += semantic_step(references[first : first + 512], source, policy)
    return [item for item in settled if isinstance(item, Open)]


def measure(opens: Sequence[Open], source: Candidates, policy: Policy, rounds: int) -> tuple[float, float]:
    """Return the seconds per reference of the lexical step, and of its search; medians of the rounds."""
    lexical_step(opens[:BATCH], source, policy)  # compiles
    whole, searched = [], []
    for _ in range(rounds):
        watch = Stopwatch()
        for first in range(0, len(opens), BATCH):
            lexical_step(opens[first : first + BATCH], source, policy, watch=watch)
        whole.append(sum(watch.seconds.values()) / len(opens))
        searched.append(watch.seconds["search"] / len(opens))
    return statistics.median(whole), statistics.median(searched)


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--snapshot", type=Path, required=True, help="a catalog with vectors and trigrams")
    parser.add_argument("--references", type=int, default=10_000)
    parser.add_argument("--profile", choices=("production", "paper"), default="production")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args(argv)
    catalog = Catalog.open(arguments.snapshot)
    source = NativeCandidates(catalog, Encoder())
    assert catalog.trigrams is not None
    catalog.trigrams.threads = 1
    policy = Policy(profile=arguments.profile, lexical_mode=catalog.lexical_mode)
    references = list(islice(real_references(1), arguments.references))
    figures: dict[str, Any] = {"machine": describe(), "works": len(catalog), "profile": arguments.profile}
    print(f"{len(catalog):,} works, {len(references):,} references, profile {arguments.profile}; {describe()}")
    print(f"{'':<22} {'reach it':>9} {'us each':>9} {'of it search':>13} {'cores for 1,000 references/s':>30}")
    for name, some in (
        ("as they are", references),
        ("without identifiers", [without_identifiers(each) for each in references]),
    ):
        opens = opens_of(some, source, policy)
        share = len(opens) / len(some)
        whole, search = measure(opens, source, policy, arguments.rounds)
        figures[name] = {"share": share, "seconds": whole, "search_seconds": search, "cores": share * whole * 1000}
        print(f"{name:<22} {share:>9.1%} {whole * 1e6:>9.0f} {search * 1e6:>13.0f} {share * whole * 1000:>30.2f}")
    harness.save(arguments.json, figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
