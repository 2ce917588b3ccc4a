"""One linker process alone, Kafka to Kafka: references per second, and where its time goes, as its own metrics tell.

    python -m benchmarks.linker [--references 10000] [--snapshot DIR] [--works FILE] [--profile production] [--json FILE]

Real references, paper by paper, wait on the topic before the linker starts. Its
metrics are read when the first batches are done and when the last is, so that start and warming up are not in the figures.
Measured twice: with the model, which takes all cores where there is no GPU, so that everything else waits for it too; and with
vectors that were encoded before (benchmarks/recalled.py), as if a GPU had done it, where the rest shows what it costs by
itself. Microseconds are those of wall time: on a machine that others use they are too many, never too few.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.broker import broker_with_catalog
from benchmarks.latency import EXAMPLE_WORKS
from benchmarks.machine import describe
from benchmarks.recalled import FOLDER, remember
from reflink.catalog.reading import read_works
from reflink.entities import Reference, Work
from reflink.errors import ReflinkError
from reflink.jats import parse
from reflink.text import reference_text
from schemas import SCHEMA_VERSION, ReferenceEvent
from tests.data import jats_folder
from workers.local.pipeline import Process
from workers.sending import Sender
from workers.settings import KafkaSettings

STEPS = ("decode", "text", "tokens", "model", "search", "verdict", "encode")
#: What a GPU takes over: all else is the process's own.
DEVICE = ("model", "search")
#: Share of the references after which the figures begin.
WARM = 0.2


def real_references(seed: int) -> Iterator[Reference]:
    """Those of the real articles, papers in a random order."""
    paths = sorted(jats_folder().glob("*.xml"))
    random.Random(seed).shuffle(paths)
    for path in paths:
        try:
            yield from parse(path.read_bytes()).references
        except ReflinkError:
            continue


def publish(references: Sequence[Reference], kafka: KafkaSettings) -> None:
    """Each as the parser sends it."""
    with Sender(kafka) as sender:
        for reference in references:
            event = ReferenceEvent(
                schema_version=SCHEMA_VERSION, citing=reference.citing, paper_version=1, arrived=0, reference=reference
            )
            sender.send("references", reference.citing.encode(), event.to_json())
        sender.flush()


class Reading:
    """The linker's metrics at one moment."""

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
    """What one linker does with them."""
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--references", type=int, default=10_000)
    parser.add_argument("--works", type=Path, default=EXAMPLE_WORKS, help="the catalog")
    parser.add_argument("--snapshot", type=Path, metavar="DIR", help="a folder built of the same works")
    parser.add_argument("--profile", choices=["paper", "production"], default="production")
    parser.add_argument(
        "--batch-records", type=int, default=2048, help="most references in a batch; for a GPU more than for a CPU"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args(argv)
    works = [work for work in read_works(arguments.works) if isinstance(work, Work)]
    references = list(islice(real_references(1), arguments.references))
    print(describe())
    print(f"{len(references):,} references, {len(works):,} works, profile {arguments.profile}\n", flush=True)
    figures = {"with the model": measure(references, works, arguments, batch_records=arguments.batch_records)}
    show("with the model", figures["with the model"])
    with tempfile.TemporaryDirectory() as folder:
        remember([reference_text(each, "TVL", lexical=False) for each in references], Path(folder))
        os.environ[FOLDER] = folder
        program = (sys.executable, "-m", "benchmarks.recalled")
        recalled = measure(references, works, arguments, batch_records=arguments.batch_records, program=program)
    figures["vectors recalled"] = recalled
    show("vectors recalled", recalled)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": describe(), "works": len(works), **figures}, indent=1))
    return 0


def show(name: str, figures: dict[str, Any]) -> None:
    """One run."""
    count, seconds = figures["references"], figures["seconds"]
    print(f"{name}: {count / seconds:,.0f} references/s ({seconds:.1f} s for {count:,.0f}); outcomes {figures['outcomes']}")
    print("  us a reference: " + ", ".join(f"{step} {value:,.1f}" for step, value in figures["microseconds"].items()))
    print(f"  all but model and search {figures['own']:,.1f} us; CPU of the process {figures['cpu']:,.1f} us\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
