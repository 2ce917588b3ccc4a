"""Measure outcomes per second through one ledger: manifests and outcomes wait in their topic, the ledger publishes links."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.ledger.recombined import MODEL, POLICY, REFERENCES_PER_PAPER, Recombined
from benchmarks.ledger.restarting import broker_for
from benchmarks.ledger.topics import PARTITIONS
from benchmarks.machine import spread
from benchmarks.papers import real_references
from benchmarks.workers.broker import reader
from benchmarks.workers.sizing import cpu_seconds
from schemas import LinkEvent, ManifestEvent, Outcome, OutcomesEvent
from workers.config.settings import KafkaSettings
from workers.devkit.processes import Pipeline
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import TopicAdmin, partition_of


def send(kafka: KafkaSettings, made: Recombined, papers: int) -> None:
    """Send manifests and outcomes of ``papers`` papers."""
    with Sender(kafka) as sender:
        for paper in made.papers(0, papers):
            links = [LinkEvent.from_json(value) for value in paper.links.values()]
            about = {name: getattr(links[0], name) for name in ("schema_version", "citing", "paper_version", "arrived")}
            manifest = ManifestEvent(**about, kind="manifest", references=tuple(paper.links))
            event = OutcomesEvent(
                **about, kind="outcomes", model=MODEL, policy=POLICY, catalog_offset=0, judged=links[0].judged,
                items=tuple(Outcome(reference=each.reference, link=each.link) for each in links),
            )  # fmt: skip
            key = paper.citing.encode()
            for value in (manifest.to_json(), event.to_json()):
                sender.send("outcomes", key, value, partition=partition_of(key, PARTITIONS))


def measure(kafka: KafkaSettings, pipeline: Pipeline, papers: int) -> dict[str, float]:
    """Measure from the first link's time to the last one's, over all links after the first batch."""
    consumer = reader(kafka, "links")
    process = pipeline.start("ledger")
    process.wait_ready()
    cpu = cpu_seconds(process)
    times: list[int] = []
    while len(times) < papers * REFERENCES_PER_PAPER:
        pipeline.check()
        times += [record.timestamp for records in consumer.poll(timeout_ms=500).values() for record in records]
    consumer.close()
    cpu = cpu_seconds(process) - cpu
    first, last = min(times), max(times)
    began = sum(each == first for each in times)
    return {"outcomes_per_s": (len(times) - began) / ((last - first) / 1000), "cpu_us": cpu / len(times) * 1e6}


def run(references: int, rounds: int, folder: Path | None = None) -> dict[str, Any]:
    """Run each round with its own topics and store."""
    made, papers = Recombined(list(real_references())), references // REFERENCES_PER_PAPER
    found = []
    with broker_for(folder) as (kafka, place):
        for number in range(rounds):
            own = kafka.model_copy(update={"topic_prefix": f"round{number}."})
            with TopicAdmin(own) as admin:
                admin.create(PARTITIONS, 1)
            began = time.monotonic()
            send(own, made, papers)
            print(f"{papers * REFERENCES_PER_PAPER:,} outcomes sent in {time.monotonic() - began:.0f} s", flush=True)
            settings = {"kafka_bootstrap_servers": own.kafka_bootstrap_servers, "topic_prefix": own.topic_prefix}
            with Pipeline(place / own.topic_prefix, **settings) as pipeline:
                found.append(measure(own, pipeline, papers))
            print(f"{found[-1]['outcomes_per_s']:,.0f} outcomes/s", flush=True)
    return {"references": papers * REFERENCES_PER_PAPER, "partitions": PARTITIONS, "rounds": found}


def text(figures: dict[str, Any]) -> str:
    """Format the median and the range."""
    rates = [each["outcomes_per_s"] for each in figures["rounds"]]
    cpu = statistics.median(each["cpu_us"] for each in figures["rounds"])
    return f"{spread(rates)} outcomes/s through one ledger, {cpu:,.0f} us of its CPU for each"
