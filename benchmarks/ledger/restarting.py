"""Measure a ledger that starts with nothing, and one that starts with its store."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.ledger.recombined import Recombined
from benchmarks.ledger.starting import Probe, restarts
from benchmarks.ledger.topics import PARTITIONS, fill
from benchmarks.papers import real_references
from benchmarks.workers.broker import broker_with_topics
from workers.config.settings import KafkaSettings
from workers.devkit.processes import Pipeline


@contextmanager
def broker_for(folder: Path | None) -> Iterator[tuple[KafkaSettings, Path]]:
    """Start an empty Kafka with all topics, and yield it with a folder; both are deleted at the end.

    Its log cleaner is off: every key of the millions occurs once, so the cleaner would find nothing, but would use time.
    """
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        with broker_with_topics(place / "kafka", PARTITIONS, {"log.cleaner.enable": "false"}) as kafka:
            yield kafka, place


def run(references: int, rounds: int, folder: Path | None = None) -> dict[str, Any]:
    """Fill the topics and restart the ledger."""
    made = Recombined(list(real_references()))
    with broker_for(folder) as (kafka, place):
        filled = fill(kafka, made, references)
        print(f"{references:,} links sent in {filled:.0f} s", flush=True)
        probe = Probe(kafka)
        try:
            with Pipeline(place, kafka_bootstrap_servers=kafka.kafka_bootstrap_servers) as pipeline:
                figures = restarts(pipeline, probe, references, rounds)
        finally:
            probe.close()
    return {"references": references, "partitions": PARTITIONS, "fill_s": filled, **figures}


def text(figures: dict[str, Any]) -> str:
    """Format the figures as lines; each time runs from the process's start to its first link in every partition."""
    first = figures["from_topics"]
    lines = [
        f"{figures['references']:,} references in {PARTITIONS} partitions; from the process's start to a new link in each:",
        f"from the topics alone  {first['first_link_s']:8.1f} s, {figures['references_per_s']:,.0f} references/s, "
        f"{first['own_mib']:,.0f} MiB own, {first['disk_mib']:,.0f} MiB on disk",
    ]
    for how, name in (("after_stop", "with its store, stopped"), ("after_kill", "with its store, killed")):
        if times := [each["first_link_s"] for each in figures[how]]:
            lines.append(f"{name:22} {statistics.median(times):8.1f} s ({min(times):.1f}-{max(times):.1f}), n={len(times)}")
    return "\n".join(lines)
