"""Where woken references are: when each was asked for, judged, and published, as a read-committed reader hears of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from kafka import TopicPartition

from reflink.errors import ReflinkError
from workers.clients import plain_consumer
from workers.local.pipeline import Pipeline
from workers.settings import KafkaSettings

#: In the order in which a reference goes through them; not all go through the fallback.
TOPICS: Final = ("retries", "fallback", "outcomes", "links")
SAMPLE_S: Final = 2.0
_LAGS: Final = ("reflink_lag_records", "reflink_catalog_lag_records", "reflink_ledger_changes_behind_records")


@dataclass
class Heard:
    """Milliseconds since 1970 at which a reference was heard of, by topic, each time; and what links said of it at last."""

    times: dict[str, list[float]] = field(default_factory=dict)
    cited: str | None = None
    linked_at: float | None = None

    def first(self, topic: str) -> float | None:
        """When it was first heard of there."""
        return min(self.times.get(topic, ()), default=None)


class Watcher(threading.Thread):
    """Reads the topics from their ends on until it is stopped; ``heard`` is by reference id."""

    def __init__(self, kafka: KafkaSettings) -> None:
        super().__init__(name="watcher", daemon=True)
        self.heard: dict[str, Heard] = {}
        self._names = {kafka.topic(name): name for name in TOPICS}
        self._consumer = plain_consumer(kafka)
        places = [
            TopicPartition(topic, partition)
            for topic in self._names
            for partition in self._consumer.partitions_for_topic(topic) or ()
        ]
        self._consumer.assign(places)
        for place in places:
            self._consumer.seek_to_end(place)
            self._consumer.position(place)
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            polled = self._consumer.poll(timeout_ms=100)
            now = time.time() * 1000
            for place, records in polled.items():
                for record in records:
                    if record.value is not None:
                        self.hear(self._names[place.topic], record.value, now)
        self._consumer.close()

    def hear(self, topic: str, value: bytes, now: float) -> None:
        """An event of the topic."""
        fields = orjson.loads(value)
        for reference in _references(fields):
            self.heard.setdefault(reference, Heard()).times.setdefault(topic, []).append(now)
        if topic == "links":
            heard = self.heard[fields["reference"]["id"]]
            cited = fields["link"].get("cited")
            if cited != heard.cited:
                heard.cited, heard.linked_at = cited, now

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def _references(fields: dict[str, Any]) -> Iterator[str]:
    if "reference" in fields:
        yield fields["reference"]["id"]
    for item in fields.get("items", ()):
        yield item["reference"]["id"]


class Lags(threading.Thread):
    """The lags that the workers tell of, by worker and metric: all samples, and the ``most`` of each since ``begin``."""

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__(name="lags", daemon=True)
        self.pipeline = pipeline
        #: Seconds since ``begin``, and what was behind then; what was not is left out.
        self.samples: list[tuple[float, dict[str, float]]] = []
        self._began = time.monotonic()
        self.failure: ReflinkError | None = None
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(SAMPLE_S):
            try:
                found = sample(self.pipeline)
            except ReflinkError as error:
                self.failure = error
                return
            self.samples.append(
                (round(time.monotonic() - self._began, 1), {name: value for name, value in found.items() if value})
            )

    def begin(self) -> None:
        """What was sampled before does not count."""
        self._began, self.samples = time.monotonic(), []

    @property
    def most(self) -> dict[str, float]:
        """The greatest of each."""
        found: dict[str, float] = {}
        for _, lags in self.samples:
            for name, value in lags.items():
                found[name] = max(value, found.get(name, 0.0))
        return found

    def stop(self) -> None:
        """Raises WorkerDied or NotReady, what a sample died of."""
        self._stopping.set()
        self.join()
        if self.failure is not None:
            raise self.failure


def sample(pipeline: Pipeline) -> dict[str, float]:
    """The lags as they are. Raises WorkerDied or NotReady."""
    found = {}
    for process in pipeline.processes:
        metrics = process.metrics()
        for name in _LAGS:
            if metrics.find(name):
                found[f"{process.worker} {name.removeprefix('reflink_').removesuffix('_records')}"] = metrics.sum(name)
    return found


def wait_calm(pipeline: Pipeline, timeout_s: float = 1800.0) -> float:
    """Until no worker has had any lag for some seconds; returns how long that took. Raises SystemExit."""
    began, calm = time.monotonic(), 0
    while calm < 4:
        lags = sample(pipeline)
        calm = 0 if any(lags.values()) else calm + 1
        if time.monotonic() - began > timeout_s:
            raise SystemExit(f"still behind after {timeout_s:g} s: {lags}")
        time.sleep(SAMPLE_S)
    return time.monotonic() - began
