"""Measure the time of the steps of a computation."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable


class Stopwatch:
    """``seconds`` by step. The time of a step is the time between the previous lap, or the start, and its own lap."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._clock = clock
        self._last = clock()

    def lap(self, step: str) -> None:
        """Add the time since the last lap to this step."""
        now = self._clock()
        self.seconds[step] += now - self._last
        self._last = now

    def move(self, seconds: float, source: str, target: str) -> None:
        """Move ``seconds``, at most all of them, from one step to another, for times that the caller cannot measure by laps."""
        part = min(seconds, self.seconds[source])
        self.seconds[source] -= part
        self.seconds[target] += part
