"""Worker processes at work, and a Prometheus that watches them: for the tests, and for the pictures in the docs."""

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
#: Of each worker, upstream first: what was on its way when one was looked at is in front of the next then.
TOPICS = {"parser": "papers", "linker": "references", "fallback": "fallback", "ledger": "outcomes"}


@dataclass(frozen=True)
class Observed:
    """What runs."""

    kafka: KafkaSettings
    pipeline: Pipeline
    prometheus: Prometheus

    def waiting(self) -> int:
        """Records that no worker has committed yet, of all topics between the papers and the links."""
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
    """Four ready workers on topics of their own, with the works of a file, scraped every ``every_s`` seconds."""
    kafka = create_topics(address, new_prefix(), PARTITIONS)
    bound = None if snapshot is None else catalogs.linked_copy(snapshot, folder / "catalog")
    catalogs.fill(works, kafka, lambda _: None, bound_to=bound)
    chosen: dict[str, Any] = {
        "pointer_root": folder / "pointers",
        "lag_interval_s": every_s,
        "transaction_timeout_s": 60,
        **settings,
    }
    if bound is not None:
        chosen["catalog_snapshot"] = bound
    place = {"kafka_bootstrap_servers": address, "topic_prefix": kafka.topic_prefix}
    with Pipeline(folder / "workers", **place, **chosen) as pipeline:
        for worker in WORKERS:
            pipeline.start(worker)
        targets = targets_of(pipeline)
        with Prometheus.start(folder / "prometheus", targets, every_s=every_s, rules=rules) as prometheus:
            pipeline.wait_ready()
            yield Observed(kafka, pipeline, prometheus)
