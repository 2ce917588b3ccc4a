"""The process of a pod: its readiness, its metrics, its restarts and its end."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Final

from tests.campaigns.autoscaling.pods import State
from workers.devkit.processes import Metrics, NotReady, Process, WorkerDied

_PROBE_S: Final = 1.0


@dataclass(eq=False)
class Held:
    """One pod's process. A separate thread probes it, because a busy worker responds late."""

    name: str
    component: str
    node: str
    process: Process
    since: float
    #: Exit codes of earlier processes of this pod.
    ends: list[int] = field(default_factory=list)
    metrics: Metrics | None = None
    #: Whether the process was killed because it did not end within its grace period.
    late: bool = False
    _ready: bool = False
    _ended: float | None = None
    _deadline: float | None = None
    _closed: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        threading.Thread(target=self._probe, name=f"probe {self.name}", daemon=True).start()

    def state(self) -> State:
        """Return the state, as ``steps`` needs it; kill a process whose grace period is over."""
        if self.process.alive:
            self._expire()
            return "ready" if self._ready else "running"
        return "ended well" if self.process.exit_code == 0 else "ended badly"

    def restart_after(self, pause_s: float) -> bool:
        """Restart the process once it has been down for ``pause_s``; return whether it was restarted."""
        now = time.monotonic()
        if self._ended is None:
            self._ended = now
        if now - self._ended < pause_s:
            return False
        self._ended = None
        self.ends.append(self.process.exit_code or 0)
        self.process.restart()
        return True

    def end(self, grace_s: float) -> bool:
        """Send SIGTERM once; SIGKILL follows after the grace period. Return whether SIGTERM was sent now."""
        if self._deadline is not None:
            return False
        self._deadline = time.monotonic() + grace_s
        self.process.terminate()
        return True

    def close(self) -> None:
        """Kill the process and stop probing it."""
        self._closed.set()
        if self.process.alive:
            self.process.kill()

    def lag(self) -> dict[str, float]:
        """Return the lag in records by topic that the process reports; empty if it has ended."""
        found: dict[str, float] = {}
        if self.process.alive and self.metrics is not None:
            for sample in self.metrics.find("reflink_lag_records"):
                topic = sample.labels["topic"]
                found[topic] = found.get(topic, 0.0) + sample.value
        return found

    def _expire(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            self.late = True
            self.process.kill()

    def _probe(self) -> None:
        while not self._closed.wait(_PROBE_S):
            if not self.process.alive:
                self._ready = False
                continue
            try:
                self._ready = self.process.ready()
                self.metrics = self.process.metrics()
            except (NotReady, WorkerDied):
                self._ready = False
