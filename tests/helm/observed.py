"""Worker processes and a Prometheus that scrapes them, for the tests and for the pictures in the docs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.helm.prometheus import Prometheus, targets_of
from tests.kafka import create_topics, lag, new_prefix
from workers.config.settings import KafkaSettings
from workers.demo import catalogs
from workers.demo.papers import Published, publish_wave
from workers.devkit.processes import WORKERS, Pipeline
from workers.kafka.bulk_producer import Sender

PARTITIONS = 6
#: Values of Grafana's variables that select everything.
VARIABLES: Final = {"namespace": ".*", "worker": ".*", "pod": ".*", "__rate_interval": "15m"}
#: Scrapes and evaluations come every second.
_PATIENCE_S: Final = 60.0
#: Maximum time until the last link of a wave of papers, which takes a few seconds.
_DONE_S: Final = 120.0
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

    def publish(self, wave: Path) -> None:
        """Send a wave of papers and wait until its last outcome is committed."""
        self.send(wave)
        self.wait()

    def send(self, wave: Path) -> None:
        """Send a wave of papers."""
        with Sender(self.kafka) as sender:
            pointers = Path(self.pipeline.settings["pointer_root"])
            assert all(publish_wave(wave, sender, Published(), pointer_root=pointers))

    def wait(self) -> None:
        """Wait until no record waits."""
        deadline = time.monotonic() + _DONE_S
        while self.waiting():
            self.pipeline.check()
            assert time.monotonic() < deadline, f"{self.waiting()} records still wait; logs: {self.pipeline.logs}"
            time.sleep(0.1)

    def numbers(self, expression: str) -> list[dict[str, Any]]:
        """Return the series with a finite value now. Raises QueryFailed."""
        return [each for each in self.prometheus.queries.instant(expression) if math.isfinite(float(each["value"][1]))]


def soon(query: Callable[[], list[Any]]) -> list[Any]:
    """Return the first result that is not empty; an empty list after the deadline."""
    deadline = time.monotonic() + _PATIENCE_S
    while not (found := query()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


@contextmanager
def observed(
    address: str,
    folder: Path,
    works: Path,
    *,
    snapshot: Path | None = None,
    engine: Sequence[str] = (),
    every_s: int = 1,
    rules: Iterable[Path] = (),
    **settings: Any,
) -> Iterator[Observed]:
    """Start four workers on their own topics, with the works of a file, scraped every ``every_s`` seconds.

    ``engine``: the nodes of a search engine; with them an indexer runs too, and linker and fallback search there.
    """
    kafka = create_topics(address, new_prefix(), PARTITIONS)
    bound = None if snapshot is None else catalogs.linked_copy(snapshot, folder / "catalog")
    catalogs.fill(works, kafka, lambda _: None, bound_to=bound)
    chosen = {"kafka_bootstrap_servers": address, "topic_prefix": kafka.topic_prefix, "pointer_root": folder / "pointers"}
    chosen |= {"lag_interval_s": every_s, "transaction_timeout_s": 60, **settings}
    chosen |= {} if bound is None else {"catalog_snapshot": bound}
    if engine:
        chosen |= {"engine": "opensearch", "engine_urls": ",".join(engine), "engine_replicas": 0}
    with Pipeline(folder / "workers", **chosen) as pipeline:
        for worker in WORKERS:
            pipeline.start(worker)
        if engine:
            pipeline.start("indexer")
        targets = targets_of(pipeline)
        with Prometheus.start(folder / "prometheus", targets, every_s=every_s, rules=rules) as prometheus:
            pipeline.wait_ready()
            yield Observed(kafka, pipeline, prometheus)
