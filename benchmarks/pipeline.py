"""The whole pipeline under load: references per second from papers to links, and where each worker's time goes.

    python -m benchmarks.pipeline [--papers 300] [--snapshot DIR --works FILE] [--profile production] [--json FILE]

All papers are published before the workers start, so that every stage has work all the time; one process per worker, on this
machine together with the broker. Time runs from all workers being ready to the last link.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from kafka import TopicPartition

from benchmarks.broker import broker_with_catalog
from benchmarks.latency import EXAMPLE_WORKS
from benchmarks.machine import describe
from benchmarks.papers import made_paper
from reflink.catalog.reading import read_works
from reflink.entities import Work
from workers.clients import plain_consumer
from workers.local.pipeline import WORKERS, Pipeline
from workers.publishing import publish, record_of
from workers.sending import Sender
from workers.settings import KafkaSettings

REFERENCES = 40
STEPS = ("wait", "follow", "handle", "commit")


def wait_for_links(kafka: KafkaSettings, count: int, pipeline: Pipeline) -> float:
    """The time at which the last of ``count`` links was received."""
    consumer = plain_consumer(kafka)
    topic = kafka.topic("links")
    consumer.assign([TopicPartition(topic, partition) for partition in consumer.partitions_for_topic(topic)])
    consumer.seek_to_beginning()
    seen: set[bytes] = set()
    while len(seen) < count:
        pipeline.check()
        for records in consumer.poll(timeout_ms=500).values():
            seen.update(record.key for record in records)
    consumer.close()
    return time.monotonic()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=300)
    parser.add_argument("--works", type=Path, default=EXAMPLE_WORKS, help="the catalog")
    parser.add_argument("--snapshot", type=Path, metavar="DIR", help="a folder built of the same works")
    parser.add_argument("--profile", choices=["paper", "production"], default="production")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args(argv)
    works = [work for work in read_works(arguments.works) if isinstance(work, Work)]
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
    if arguments.json:
        figures = {"machine": describe(), "references": count, "works": len(works), "seconds": seconds, "spent": spent}
        arguments.json.write_text(json.dumps({**figures, "outcomes": outcomes}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
