"""Measure one linker process from Kafka to Kafka: references per second, and where its time goes by its own metrics.

    python -m benchmarks.workers.linker [--references 10000] [--snapshot DIR] [--works FILE] [--profile production]
        [--json FILE]

Real references, paper by paper, wait on the topic before the linker starts. The benchmark reads the linker's metrics after the
first batches and after the last, so that start and warm-up are not in the figures.
Measured twice: with the model, which takes all cores where there is no GPU, so that all other steps wait for it too; and with
vectors that were encoded before (recalled.py), as if by a GPU, which shows the cost of the other steps alone.
Microseconds are wall time: on a machine with other load they are too high, never too low.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.machine import describe
from benchmarks.papers import real_references
from benchmarks.workers.broker import broker_with_catalog
from benchmarks.workers.recalled import FOLDER, remember
from reflink.entities import Reference, Work
from reflink.text import reference_text
from schemas import SCHEMA_VERSION, ReferenceEvent
from workers.config.settings import KafkaSettings
from workers.devkit.processes import Process
from workers.kafka.bulk_producer import Sender

STEPS = ("decode", "text", "tokens", "model", "search", "verdict", "encode")
#: Steps that a GPU takes over; the process itself does all others.
DEVICE = ("model", "search")
#: Share of the references after which the figures begin.
WARM = 0.2


def publish(references: Sequence[Reference], kafka: KafkaSettings) -> None:
    """Publish each reference as the parser does."""
    with Sender(kafka) as sender:
        for reference in references:
            event = ReferenceEvent(
                schema_version=SCHEMA_VERSION, citing=reference.citing, paper_version=1, arrived=0, reference=reference
            )
            sender.send("references", reference.citing.encode(), event.to_json())
        sender.flush()


class Reading:
    """The linker's metrics at one time."""

    def __init__(self, linker: Process) -> None:
        found = linker.metrics()
        self.at = time.monotonic()
        self.done = found.sum("reflink_records_in_total", topic="references")
        self.steps = {step: found.sum("reflink_handle_seconds_total", step=step) for step in STEPS}
        self.steps["commit"] = found.sum("reflink_stage_seconds_sum", step="commit")
        self.cpu = found.sum("process_cpu_seconds_total")


def measure(
    references: Sequence[Reference], works: Sequence[Work], arguments: argparse.Namespace, **settings: Any
) -> dict[str, Any]:
    """Measure one linker on these references."""
    with broker_with_catalog(works, arguments.snapshot, profile=arguments.profile, **settings) as (kafka, pipeline):
        publish(references, kafka)
        linker = pipeline.start("linker")
        linker.wait_ready()
        first = None
        while True:
            pipeline.check()
            last = Reading(linker)
            if first is None and last.done >= WARM * len(references):
                first = last
            if first is not None and last.done >= len(references):
                break
            time.sleep(0.05)
        outcomes = {
            f"{sample.labels['method'] or 'unresolved'} {sample.labels['reason']}".strip(): int(sample.value)
            for sample in linker.metrics().find("reflink_outcomes_total")
        }
    count = last.done - first.done
    spent = {step: (last.steps[step] - first.steps[step]) / count * 1e6 for step in last.steps}
    return {
        "references": count,
        "seconds": last.at - first.at,
        "microseconds": spent,
        "own": sum(value for step, value in spent.items() if step not in DEVICE),
        "cpu": (last.cpu - first.cpu) / count * 1e6,
        "outcomes": outcomes,
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--references", type=int, default=10_000)
    harness.add_catalog(parser)
    parser.add_argument(
        "--batch-records", type=int, default=2048, help="maximum references in a batch; more for a GPU than for a CPU"
    )
    arguments = parser.parse_args(argv)
    works = harness.works_of(arguments.works)
    references = list(islice(real_references(1), arguments.references))
    print(describe())
    print(f"{len(references):,} references, {len(works):,} works, profile {arguments.profile}\n", flush=True)
    recalled = {"program": (sys.executable, "-m", "benchmarks.workers.recalled")}
    with tempfile.TemporaryDirectory() as folder:
        remember([reference_text(each, "TVL", lexical=False) for each in references], Path(folder))
        os.environ[FOLDER] = folder
        figures = {}
        for name, more in (("with the model", {}), ("vectors recalled", recalled)):
            figures[name] = measure(references, works, arguments, batch_records=arguments.batch_records, **more)
            show(name, figures[name])
    harness.save(arguments.json, {"works": len(works), **figures})
    return 0


def show(name: str, figures: dict[str, Any]) -> None:
    """Print one run."""
    count, seconds = figures["references"], figures["seconds"]
    print(f"{name}: {count / seconds:,.0f} references/s ({seconds:.1f} s for {count:,.0f}); outcomes {figures['outcomes']}")
    print("  us a reference: " + ", ".join(f"{step} {value:,.1f}" for step, value in figures["microseconds"].items()))
    print(f"  all but model and search {figures['own']:,.1f} us; CPU of the process {figures['cpu']:,.1f} us\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
