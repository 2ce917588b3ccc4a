"""How fast a tool may send beside live traffic, and when it will be done."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

#: A transaction is worth its while for so many seconds of what may be sent.
_WORTH_S: Final = 0.5
#: What was not used is kept for so long.
_KEPT_S: Final = 1.0
#: A forecast goes by what was sent in so long.
_WINDOW_S: Final = 60.0


class Pace:
    """At most ``per_second`` records on average, and never more than ``ahead`` that the reader has not read.

    ``unread`` asks how many those are now, and is asked only when something could be sent.
    """

    def __init__(
        self, per_second: float, ahead: int, unread: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.per_second, self.ahead, self._unread, self._clock = per_second, ahead, unread, clock
        self._saved, self._at = min(per_second * _WORTH_S, per_second), clock()
        #: Whether the reader was what the last answer waited for.
        self.held_up = False

    def allowed(self) -> int:
        """How many may be sent now. The caller sends them at once, says so with ``sent``, or asks again later."""
        now = self._clock()
        self._saved = min(self._saved + (now - self._at) * self.per_second, max(1.0, self.per_second * _KEPT_S))
        self._at = now
        if self._saved < max(1.0, self.per_second * _WORTH_S):
            return 0
        room = self.ahead - self._unread()
        self.held_up = room < 1
        return max(0, min(int(self._saved), room))

    def sent(self, count: int) -> None:
        """So many of those that were allowed were sent."""
        self._saved -= count


class Forecast:
    """The rate of late, and how long what is left takes at that rate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def saw(self, done: int) -> None:
        """So many are done by now."""
        now = self._clock()
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _WINDOW_S:
            self._seen.popleft()

    @property
    def rate(self) -> float:
        """A second, over the last minute; 0 as long as nothing is known."""
        if len(self._seen) < 2:
            return 0.0
        (began, before), (ended, after) = self._seen[0], self._seen[-1]
        return (after - before) / (ended - began) if ended > began else 0.0

    def left_s(self, left: int) -> float | None:
        """Seconds that so many more take; None when that cannot be said."""
        if left <= 0:
            return 0.0
        return left / self.rate if self.rate > 0 else None
