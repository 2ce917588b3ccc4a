"""Worker processes and a Prometheus that scrapes them, for the tests and for the pictures in the docs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helm.prometheus import Prometheus, targets_of
from tests.kafka import create_topics, lag, new_prefix
from workers.config.settings import KafkaSettings
from workers.demo import catalogs
from workers.devkit.processes import WORKERS, Pipeline

PARTITIONS = 6
#: The topic of each worker, upstream first: a record that moves on during the check is counted for the next worker.
TOPICS = {"parser": "papers", "linker": "references", "fallback": "fallback", "ledger": "outcomes"}


@dataclass(frozen=True)
class Observed:
    """The running processes."""

    kafka: KafkaSettings
    pipeline: Pipeline
    prometheus: Prometheus

    def waiting(self) -> int:
        """Return the number of uncommitted records in all topics between the papers and the links."""
        return sum(lag(self.kafka, worker, topic) for worker, topic in TOPICS.items())


@contextmanager
def observed(
    address: str,
    folder: Path,
    works: Path,
    *,
    snapshot: Path | None = None,
    every_s: int = 1,
    rules: Iterable[Path] = (),
    **settings: Any,
) -> Iterator[Observed]:
    """Start four workers on their own topics, with the works of a file, scraped every ``every_s`` seconds."""
    kafka = create_topics(address, new_prefix(), PARTITIONS)
    bound = None if snapshot is None else catalogs.linked_copy(snapshot, folder / "catalog")
    catalogs.fill(works, kafka, lambda _: None, bound_to=bound)
    chosen = {"kafka_bootstrap_servers": address, "topic_prefix": kafka.topic_prefix, "pointer_root": folder / "pointers"}
    chosen |= {"lag_interval_s": every_s, "transaction_timeout_s": 60, **settings}
    chosen |= {} if bound is None else {"catalog_snapshot": bound}
    with Pipeline(folder / "workers", **chosen) as pipeline:
        for worker in WORKERS:
            pipeline.start(worker)
        targets = targets_of(pipeline)
        with Prometheus.start(folder / "prometheus", targets, every_s=every_s, rules=rules) as prometheus:
            pipeline.wait_ready()
            yield Observed(kafka, pipeline, prometheus)
