"""Where the time of a computation goes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable


class Stopwatch:
    """``seconds`` by step. A step's time is that between the last lap, or the start, and its own."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._clock = clock
        self._last = clock()

    def lap(self, step: str) -> None:
        """All since the last lap was this step."""
        now = self._clock()
        self.seconds[step] += now - self._last
        self._last = now

    def move(self, seconds: float, source: str, target: str) -> None:
        """So much of one step, at most all of it, was another's: for what is told by who did it, and not when."""
        part = min(seconds, self.seconds[source])
        self.seconds[source] -= part
        self.seconds[target] += part
