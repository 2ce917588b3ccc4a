"""The record of a run: lag, replicas and links each second, and marks of the scenario's phases."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.campaigns.autoscaling.errors import RunFailed
from workers.devkit.processes import WORKERS

_EVERY_S: Final = 1.0
#: Reasons of the Kubernetes events that belong in the record.
_EVENTS: Final = ("SuccessfulRescale", "NodeNotReady", "TaintManagerEviction", "FailedGetExternalMetric", "KEDAScalerFailed")


@dataclass
class Record:
    """Samples one second apart, marks of the phases (seconds, text), and the messages of the run and its agent."""

    samples: list[dict[str, Any]] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    messages: list[tuple[float, str]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        """Return the seconds since the record began."""
        return round(time.monotonic() - self.began, 1)

    def mark(self, text: str) -> None:
        """Add a mark with the current time."""
        self.marks.append((self.now(), text))

    def at(self, mark: str) -> float:
        """Return the time of a mark. Raises RunFailed if the run has not reached it."""
        for when, text in self.marks:
            if text == mark:
                return when
        raise RunFailed(f"the run did not reach: {mark}")

    def between(self, since: float, until: float) -> list[dict[str, Any]]:
        """Return the samples from ``since`` to ``until``."""
        return [each for each in self.samples if since <= each["seconds"] <= until]


class Sampler:
    """Takes a sample each second, in its own thread, until it is stopped."""

    def __init__(self, record: Record, sources: Iterable[Callable[[], Mapping[str, Any]]]) -> None:
        """Each source returns some fields of the sample; if a source fails, its fields keep their last values."""
        self._record, self._sources = record, tuple(sources)
        self._last: dict[str, Any] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Take the first sample and start the thread."""
        self.sample()
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; no sample is taken afterwards."""
        self._stop.set()
        self._thread.join()

    def sample(self) -> None:
        """Take a sample now."""
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


def replicas(workloads: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the wanted and the ready replicas of Deployments and StatefulSets, by component."""
    wanted: dict[str, int] = dict.fromkeys(WORKERS, 0)
    ready = dict(wanted)
    for each in workloads:
        component = each["metadata"].get("labels", {}).get("app.kubernetes.io/component")
        if component in wanted:
            wanted[component] += each["spec"].get("replicas", 1)
            ready[component] += each.get("status", {}).get("readyReplicas", 0)
    return {"wanted": wanted, "ready": ready}


def by_component(lag: Mapping[str, float]) -> dict[str, float]:
    """Return KEDA's lag by worker; the name of a scaled object ends with the worker that it scales."""
    return {worker: value for name, value in lag.items() for worker in WORKERS if name.endswith(worker)}


def event_lines(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the Kubernetes events about scaling and nodes as lines of text, the oldest first."""
    chosen = [each for each in events if each.get("reason") in _EVENTS]
    chosen.sort(key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime")))
    return [
        f"{each.get('lastTimestamp') or each.get('eventTime')} {each['involvedObject'].get('name')}: {each['reason']}: "
        f"{each.get('message', '')} (x{each.get('count', 1)})"
        for each in chosen
    ]
