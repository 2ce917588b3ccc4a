"""Paper to link at low load: from the paper's timestamp to its links' receipt by a read-committed reader.

    python -m benchmarks.latency [--papers 60] [--every 0.5] [--snapshot DIR --works FILE] [--json FILE]

One paper at a time, so that what is measured is the pipeline and not a queue. Without --snapshot the catalog is that
of the examples. The papers cite works of the catalog (a quarter with identifiers, a quarter by tagged
fields, a quarter as raw text) and works that are nowhere, so that all stages take part.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import orjson
from kafka import TopicPartition

from benchmarks.broker import broker_with_catalog
from benchmarks.machine import describe
from benchmarks.papers import made_paper
from reflink.catalog.reading import read_works
from reflink.entities import Work
from workers.clients import plain_consumer
from workers.local.pipeline import WORKERS
from workers.publishing import publish, record_of
from workers.sending import Sender
from workers.settings import KafkaSettings

REFERENCES = 15
WARM_UP = 5
EXAMPLE_WORKS = Path("examples/works.jsonl")


def measure(kafka: KafkaSettings, works: Sequence[Work], papers: range, every_s: float) -> dict[str, list[float]]:
    """Seconds per link by method (``unresolved`` for none), and per paper until its last link."""
    consumer = plain_consumer(kafka)
    topic = kafka.topic("links")
    places = [TopicPartition(topic, partition) for partition in consumer.partitions_for_topic(topic)]
    consumer.assign(places)
    for place in places:
        consumer.seek_to_end(place)
        consumer.position(place)
    seconds: dict[str, list[float]] = {"paper": []}
    sample = random.Random(1).sample(list(works), min(len(works), 5000))
    with Sender(kafka) as sender:
        for number in papers:
            began = time.monotonic()
            publish([record_of(f"p{number}", made_paper(number, sample, REFERENCES))], sender)
            sender.flush()
            left = REFERENCES
            last = 0.0
            while left:
                for records in consumer.poll(timeout_ms=1000).values():
                    received = time.time() * 1000
                    for record in records:
                        event = orjson.loads(record.value)
                        last = (received - event["arrived"]) / 1000
                        seconds.setdefault(event["link"].get("method") or "unresolved", []).append(last)
                        left -= 1
                if time.monotonic() - began > 60:
                    raise SystemExit(f"paper {number}: {left} links are missing after 60 s")
            seconds["paper"].append(last)
            time.sleep(max(0.0, every_s - (time.monotonic() - began)))
    consumer.close()
    return seconds


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=60)
    parser.add_argument("--every", type=float, default=0.5, metavar="SECONDS", help="between papers")
    parser.add_argument("--works", type=Path, default=EXAMPLE_WORKS, help="the catalog")
    parser.add_argument("--snapshot", type=Path, metavar="DIR", help="a folder built of the same works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args(argv)
    works = [work for work in read_works(arguments.works) if isinstance(work, Work)]
    with broker_with_catalog(works, arguments.snapshot) as (kafka, pipeline):
        for worker in WORKERS:
            pipeline.start(worker)
        pipeline.wait_ready()
        measure(kafka, works, range(WARM_UP), 0.2)  # first batches compile and warm
        seconds = measure(kafka, works, range(WARM_UP, WARM_UP + arguments.papers), arguments.every)
    print(describe())
    print(f"{arguments.papers} papers of {REFERENCES} references, one each {arguments.every:g} s, {len(works):,} works\n")
    print(f"{'':12} {'n':>6} {'p50 s':>8} {'p95 s':>8}")
    links = list(itertools.chain.from_iterable(values for kind, values in seconds.items() if kind != "paper"))
    for kind, values in [("all links", links), *sorted(seconds.items())]:
        ranked = sorted(values)
        print(f"{kind:12} {len(ranked):6} {statistics.median(ranked):8.3f} {ranked[int(len(ranked) * 0.95)]:8.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": describe(), "works": len(works), "seconds": seconds}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
