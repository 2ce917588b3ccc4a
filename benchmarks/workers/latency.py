"""Measure the latency at low load: from the paper's timestamp until a read-committed reader receives its links.

    python -m benchmarks.workers.latency [--papers 60] [--every 0.5] [--snapshot DIR --works FILE] [--json FILE]

One paper is sent at a time, so that the figures measure the pipeline and not a queue. Without --snapshot the catalog is that
of the examples. The papers cite works of the catalog (a quarter with identifiers, a quarter by tagged
fields, a quarter as raw text) and works that do not exist, so that all stages take part.
"""

from __future__ import annotations

import itertools
import random
import statistics
import sys
import time
from collections.abc import Sequence

import orjson

from benchmarks import harness
from benchmarks.machine import describe
from benchmarks.papers import made_paper
from benchmarks.workers.broker import broker_with_catalog, reader
from reflink.entities import Work
from workers.config.settings import KafkaSettings
from workers.devkit.processes import WORKERS
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import publish, record_of

REFERENCES = 15
WARM_UP = 5


def measure(kafka: KafkaSettings, works: Sequence[Work], papers: range, every_s: float) -> dict[str, list[float]]:
    """Return seconds per link by method (``unresolved`` for none), and per paper until its last link."""
    consumer = reader(kafka, "links", at_end=True)
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
    parser = harness.parser(__doc__)
    parser.add_argument("--papers", type=int, default=60)
    parser.add_argument("--every", type=float, default=0.5, metavar="SECONDS", help="between papers")
    harness.add_catalog(parser, profile=False)
    arguments = parser.parse_args(argv)
    works = harness.works_of(arguments.works)
    with broker_with_catalog(works, arguments.snapshot) as (kafka, pipeline):
        for worker in WORKERS:
            pipeline.start(worker)
        pipeline.wait_ready()
        measure(kafka, works, range(WARM_UP), 0.2)  # the first batches compile and warm up
        seconds = measure(kafka, works, range(WARM_UP, WARM_UP + arguments.papers), arguments.every)
    print(describe())
    print(f"{arguments.papers} papers of {REFERENCES} references, one each {arguments.every:g} s, {len(works):,} works\n")
    print(f"{'':12} {'n':>6} {'p50 s':>8} {'p95 s':>8}")
    links = list(itertools.chain.from_iterable(values for kind, values in seconds.items() if kind != "paper"))
    for kind, values in [("all links", links), *sorted(seconds.items())]:
        ranked = sorted(values)
        print(f"{kind:12} {len(ranked):6} {statistics.median(ranked):8.3f} {ranked[int(len(ranked) * 0.95)]:8.3f}")
    harness.save(arguments.json, {"works": len(works), "seconds": seconds})
    return 0


if __name__ == "__main__":
    sys.exit(main())
