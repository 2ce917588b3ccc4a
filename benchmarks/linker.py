"""One linker process alone, Kafka to Kafka: references per second, and where its time goes, as its own metrics tell.

    python -m benchmarks.linker [--references 10000] [--snapshot DIR] [--works FILE] [--profile production] [--json FILE]

Real references (shuffled, so that papers mix as they do on a busy topic) wait on the topic before the linker starts. Its
metrics are read when the first batches are done and when the last is, so that start and warming up are not in the figures.
Microseconds are those of wall time: on a machine that others use they are too many, never too few.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from benchmarks.broker import broker_with_catalog
from benchmarks.latency import EXAMPLE_WORKS
from benchmarks.machine import describe
from reflink.catalog.reading import read_works
from reflink.entities import Reference, Work
from reflink.errors import ReflinkError
from reflink.jats import parse
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


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--references", type=int, default=10_000)
    parser.add_argument("--works", type=Path, default=EXAMPLE_WORKS, help="the catalog")
    parser.add_argument("--snapshot", type=Path, metavar="DIR", help="a folder built of the same works")
    parser.add_argument("--profile", choices=["paper", "production"], default="production")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args(argv)
    works = [work for work in read_works(arguments.works) if isinstance(work, Work)]
    references = list(islice(real_references(1), arguments.references))
    random.Random(1).shuffle(references)
    with broker_with_catalog(works, arguments.snapshot, profile=arguments.profile) as (kafka, pipeline):
        publish(references, kafka)
        linker = pipeline.start("linker")
        linker.wait_ready()
        first = None
        while True:
            pipeline.check()
            reading = Reading(linker)
            if first is None and reading.done >= WARM * len(references):
                first = reading
            if first is not None and reading.done >= len(references):
                break
            time.sleep(0.1)
        outcomes = {
            f"{sample.labels['method'] or 'unresolved'} {sample.labels['reason']}".strip(): int(sample.value)
            for sample in linker.metrics().find("reflink_outcomes_total")
        }
    count, seconds = reading.done - first.done, reading.at - first.at
    spent = {step: (reading.steps[step] - first.steps[step]) / count * 1e6 for step in reading.steps}
    own = sum(value for step, value in spent.items() if step not in DEVICE)
    print(describe())
    print(f"{len(references):,} references, {len(works):,} works, profile {arguments.profile}; outcomes {outcomes}\n")
    cpu = (reading.cpu - first.cpu) / count * 1e6
    print(f"{count / seconds:,.0f} references/s ({seconds:.1f} s for {count:,.0f}); {cpu:,.0f} us of CPU each, all threads\n")
    print("us a reference: " + ", ".join(f"{step} {value:,.1f}" for step, value in spent.items()))
    print(f"everything but model and search: {own:,.1f} us")
    if arguments.json:
        figures = {"machine": describe(), "references": count, "works": len(works), "seconds": seconds, "microseconds": spent}
        arguments.json.write_text(json.dumps({**figures, "own": own, "outcomes": outcomes}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
