"""Measure the whole pipeline under load: references per second from papers to links, and where each worker's time goes.

    python -m benchmarks.workers.pipeline [--papers 300] [--snapshot DIR --works FILE] [--profile production] [--json FILE]

All papers are published before the workers start, so that every stage has work all the time; one process per worker, on this
machine together with the broker. Time runs from the moment all workers are ready to the last link.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence

from benchmarks import harness
from benchmarks.machine import describe
from benchmarks.papers import made_paper
from benchmarks.workers.broker import broker_with_catalog, reader
from workers.config.settings import KafkaSettings
from workers.devkit.processes import WORKERS, Pipeline
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import publish, record_of

REFERENCES = 40
STEPS = ("wait", "follow", "handle", "commit")


def wait_for_links(kafka: KafkaSettings, count: int, pipeline: Pipeline) -> float:
    """Wait for ``count`` links; return the time at which the last was received."""
    consumer = reader(kafka, "links")
    seen: set[bytes] = set()
    while len(seen) < count:
        pipeline.check()
        for records in consumer.poll(timeout_ms=500).values():
            seen.update(record.key for record in records)
    consumer.close()
    return time.monotonic()


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--papers", type=int, default=300)
    harness.add_catalog(parser)
    arguments = parser.parse_args(argv)
    works = harness.works_of(arguments.works)
    count = arguments.papers * REFERENCES
    with broker_with_catalog(works, arguments.snapshot, profile=arguments.profile) as (kafka, pipeline):
        sample = random.Random(1).sample(works, min(len(works), 5000))
        for worker in WORKERS[1:]:
            pipeline.start(worker)
        pipeline.wait_ready()
        with Sender(kafka) as sender:
            papers = (record_of(f"p{number}", made_paper(number, sample, REFERENCES)) for number in range(arguments.papers))
            publish(papers, sender)
        parser_process = pipeline.start(WORKERS[0])
        parser_process.wait_ready()
        started = time.monotonic()
        seconds = wait_for_links(kafka, count, pipeline) - started
        spent = {
            process.worker: {step: process.metrics().sum("reflink_stage_seconds_sum", step=step) for step in STEPS}
            for process in pipeline.processes
        }
        outcomes = {
            f"{sample.labels['method'] or 'unresolved'} {sample.labels['reason']}".strip(): int(sample.value)
            for worker in ("linker", "fallback")
            for sample in pipeline.of(worker)[0].metrics().find("reflink_outcomes_total")
        }
    print(describe())
    print(f"{arguments.papers} papers, {count} references, {len(works):,} works, profile {arguments.profile}\n")
    print(f"{count / seconds:,.0f} references/s ({seconds:.1f} s)\n")
    print(f"{'seconds of':10} " + " ".join(f"{step:>8}" for step in STEPS))
    for worker, steps in spent.items():
        print(f"{worker:10} " + " ".join(f"{steps[step]:8.1f}" for step in STEPS))
    print("\noutcomes: " + ", ".join(f"{name} {number}" for name, number in sorted(outcomes.items())))
    figures = {"references": count, "works": len(works), "seconds": seconds, "spent": spent, "outcomes": outcomes}
    harness.save(arguments.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
