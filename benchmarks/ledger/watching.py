"""Track re-evaluated references: when a read-committed reader sees the request, the outcome and the link of each."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from benchmarks.workers.broker import reader
from reflink.errors import ReflinkError
from workers.config.settings import KafkaSettings
from workers.devkit.processes import Pipeline

#: The topics in the order in which a reference passes them; not all pass the fallback.
TOPICS: Final = ("retries", "fallback", "outcomes", "links")
SAMPLE_S: Final = 2.0
_LAGS: Final = ("reflink_lag_records", "reflink_catalog_lag_records", "reflink_ledger_changes_behind_records")


@dataclass
class Seen:
    """Times in milliseconds since 1970 at which a reference was seen, by topic; and the newest link."""

    times: dict[str, list[float]] = field(default_factory=dict)
    cited: str | None = None
    linked_at: float | None = None

    def first(self, topic: str) -> float | None:
        """Return when the reference was first seen in the topic."""
        return min(self.times.get(topic, ()), default=None)


class Watcher(threading.Thread):
    """Reads the topics from their current ends until it is stopped; ``seen`` is by reference id."""

    def __init__(self, kafka: KafkaSettings) -> None:
        super().__init__(name="watcher", daemon=True)
        self.seen: dict[str, Seen] = {}
        self._names = {kafka.topic(name): name for name in TOPICS}
        self._consumer = reader(kafka, *TOPICS, at_end=True)
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            polled = self._consumer.poll(timeout_ms=100)
            now = time.time() * 1000
            for place, records in polled.items():
                for record in records:
                    if record.value is not None:
                        self.record(self._names[place.topic], record.value, now)
        self._consumer.close()

    def record(self, topic: str, value: bytes, now: float) -> None:
        """Record an event of the topic."""
        fields = orjson.loads(value)
        for reference in _references(fields):
            self.seen.setdefault(reference, Seen()).times.setdefault(topic, []).append(now)
        if topic == "links":
            seen = self.seen[fields["reference"]["id"]]
            cited = fields["link"].get("cited")
            if cited != seen.cited:
                seen.cited, seen.linked_at = cited, now

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def _references(fields: dict[str, Any]) -> Iterator[str]:
    if "reference" in fields:
        yield fields["reference"]["id"]
    for item in fields.get("items", ()):
        yield item["reference"]["id"]


class Lags(threading.Thread):
    """Samples the workers' lags; ``highest`` has the maximum of each since ``begin``, by worker and metric."""

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__(name="lags", daemon=True)
        self.pipeline = pipeline
        self.highest: dict[str, float] = {}
        self.failure: ReflinkError | None = None
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(SAMPLE_S):
            try:
                found = sample(self.pipeline)
            except ReflinkError as error:
                self.failure = error
                return
            self.highest |= {name: max(value, self.highest.get(name, 0.0)) for name, value in found.items() if value}

    def begin(self) -> None:
        """Discard the previous samples."""
        self.highest = {}

    def stop(self) -> None:
        """Stop sampling. Raises WorkerDied or NotReady if a sample failed with it."""
        self._stopping.set()
        self.join()
        if self.failure is not None:
            raise self.failure


def sample(pipeline: Pipeline) -> dict[str, float]:
    """Return the current lags. Raises WorkerDied or NotReady."""
    found = {}
    for process in pipeline.processes:
        metrics = process.metrics()
        for name in _LAGS:
            if metrics.find(name):
                found[f"{process.worker} {name.removeprefix('reflink_').removesuffix('_records')}"] = metrics.sum(name)
    return found


def wait_calm(pipeline: Pipeline, timeout_s: float = 1800.0) -> float:
    """Wait until no worker has had any lag for some seconds; return how long that took. Raises SystemExit."""
    began, calm = time.monotonic(), 0
    while calm < 4:
        lags = sample(pipeline)
        calm = 0 if any(lags.values()) else calm + 1
        if time.monotonic() - began > timeout_s:
            raise SystemExit(f"still behind after {timeout_s:g} s: {lags}")
        time.sleep(SAMPLE_S)
    return time.monotonic() - began
