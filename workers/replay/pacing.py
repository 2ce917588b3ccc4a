"""The rate at which a tool sends beside live traffic, and a forecast of its end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from workers.rates import TokenBucket

#: Nothing is allowed until this many seconds of allowance have accumulated, so that transactions are not too small.
_WORTH_S: Final = 0.5
#: Unused allowance accumulates for at most this many seconds.
_KEPT_S: Final = 1.0
#: The length of the period whose rate a forecast uses.
_WINDOW_S: Final = 60.0


class Pace:
    """A token bucket: at most ``per_second`` records on average, and at most ``ahead`` records that the reader has not read.

    ``unread`` returns the current number of unread records. It is called only when the rate allows sending.
    """

    def __init__(
        self, per_second: float, ahead: int, unread: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.ahead, self._unread, self._clock = ahead, unread, clock
        self._least = max(1.0, per_second * _WORTH_S)
        self._tokens = TokenBucket(per_second, max(1.0, per_second * _KEPT_S), saved=per_second * _WORTH_S, now=clock())
        #: Whether the number of unread records allowed nothing at the last call that consulted it.
        self.held_up = False

    def allowed(self) -> int:
        """Return how many records may be sent now. The caller sends at most that many at once and then calls ``sent``."""
        saved = self._tokens.saved(self._clock())
        if saved < self._least:
            return 0
        room = self.ahead - self._unread()
        self.held_up = room < 1
        return max(0, min(int(saved), room))

    def sent(self, count: int) -> None:
        """Deduct ``count`` sent records from the allowance."""
        self._tokens.spend(count)


class Forecast:
    """The recent rate, and the time that the remaining records take at that rate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def saw(self, done: int) -> None:
        """Record that ``done`` records in total are done now."""
        now = self._clock()
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _WINDOW_S:
            self._seen.popleft()

    @property
    def rate(self) -> float:
        """Records per second over the last minute; 0 before two observations."""
        if len(self._seen) < 2:
            return 0.0
        (began, before), (ended, after) = self._seen[0], self._seen[-1]
        return (after - before) / (ended - began) if ended > began else 0.0

    def left_s(self, left: int) -> float | None:
        """Return the seconds that ``left`` more records take, or None if the rate is 0."""
        if left <= 0:
            return 0.0
        return left / self.rate if self.rate > 0 else None
