"""What is seen every second: lag, replicas, links; and when what began."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka import TopicPartition

from tests.autoscaling.errors import RunFailed
from workers.clients import plain_consumer
from workers.settings import KafkaSettings

WORKERS: Final = ("parser", "linker", "fallback", "ledger")
#: What each reads; when its lag is counted, this is the topic.
READS: Final = {"parser": "papers", "linker": "references", "fallback": "fallback", "ledger": "outcomes"}
_EVERY_S: Final = 1.0
#: A wake-up of Kubernetes that belongs into the record.
_EVENTS: Final = ("SuccessfulRescale", "NodeNotReady", "TaintManagerEviction", "FailedGetExternalMetric", "KEDAScalerFailed")


@dataclass
class Record:
    """Samples a second apart, marks of what began when (seconds, text), and what agent and Kubernetes said meanwhile."""

    samples: list[dict[str, Any]] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    said: list[tuple[float, str]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        """Seconds since it began."""
        return round(time.monotonic() - self.began, 1)

    def mark(self, text: str) -> None:
        """Something begins now."""
        self.marks.append((self.now(), text))

    def at(self, mark: str) -> float:
        """When it was. Raises RunFailed when it never came to that."""
        for when, text in self.marks:
            if text == mark:
                return when
        raise RunFailed(f"the run never came to: {mark}")

    def between(self, since: float, until: float) -> list[dict[str, Any]]:
        """The samples of that time."""
        return [each for each in self.samples if since <= each["seconds"] <= until]


class Sampler:
    """Takes a sample a second, in a thread of its own, until it is stopped."""

    def __init__(self, record: Record, sources: Iterable[Callable[[], Mapping[str, Any]]]) -> None:
        """Each source gives some fields of the sample; one that fails leaves its fields as they were the last time."""
        self._record, self._sources = record, tuple(sources)
        self._last: dict[str, Any] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Begins."""
        self.sample()
        self._thread.start()

    def stop(self) -> None:
        """The last sample is taken by then."""
        self._stop.set()
        self._thread.join()

    def sample(self) -> None:
        """Takes one now."""
        now = self._record.now()
        for source in self._sources:
            try:
                self._last |= source()
            except (OSError, RunFailed):
                continue
        self._record.samples.append({"seconds": now, **self._last})

    def _run(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self.sample()


class Links:
    """Counts the links that a reader of committed records has seen, in a thread of its own."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self.count = 0
        self._kafka = kafka
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="links", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Ends."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        consumer = plain_consumer(self._kafka)
        try:
            topic = self._kafka.topic("links")
            places = [TopicPartition(topic, partition) for partition in consumer.partitions_for_topic(topic) or ()]
            consumer.assign(places)
            consumer.seek_to_beginning()
            while not self._stop.is_set():
                self.count += sum(map(len, consumer.poll(timeout_ms=500).values()))
        finally:
            consumer.close()


def replicas(workloads: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Of Deployments and StatefulSets: how many are wanted and how many are ready, by component."""
    wanted, ready = dict.fromkeys(WORKERS, 0), dict.fromkeys(WORKERS, 0)
    for each in workloads:
        component = each["metadata"].get("labels", {}).get("app.kubernetes.io/component")
        if component in wanted:
            wanted[component] += each["spec"].get("replicas", 1)
            ready[component] += each.get("status", {}).get("readyReplicas", 0)
    return {"wanted": wanted, "ready": ready}


def by_component(lag: Mapping[str, float]) -> dict[str, float]:
    """KEDA's lag by worker: its scaled objects are named after what they scale, at the end."""
    return {worker: value for name, value in lag.items() for worker in WORKERS if name.endswith(worker)}


def told(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """What Kubernetes says of scaling and of nodes, the oldest first."""
    chosen = [each for each in events if each.get("reason") in _EVENTS]
    chosen.sort(key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime")))
    return [
        f"{each.get('lastTimestamp') or each.get('eventTime')} {each['involvedObject'].get('name')}: {each['reason']}: "
        f"{each.get('message', '')} (x{each.get('count', 1)})"
        for each in chosen
    ]
