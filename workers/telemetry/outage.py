"""An outage of a service that a stage needs beside Kafka: the batch in flight waits and is tried again.

Meanwhile the worker polls, so it keeps its partitions; the queue fills and pauses them; and lag grows without the worker being
stalled.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from workers.errors import ServiceUnavailable
from workers.telemetry import metrics

log = logging.getLogger(__name__)

_FIRST_DELAY_S: Final = 0.1
_MAX_DELAY_S: Final = 5.0
#: Interval between log lines during an outage.
_LOG_S: Final = 60.0


class Outage:
    """The present outage, if there is one. ``clock`` returns seconds. Written by the compute thread only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: float | None = None
        self._logged = 0.0
        self._delay_s = _FIRST_DELAY_S

    @property
    def active(self) -> bool:
        """Whether the last attempt failed."""
        return self._since is not None

    def failed(self, error: ServiceUnavailable) -> float:
        """Record a failed attempt. Return the seconds to wait before the next one."""
        now = self._clock()
        if self._since is None:
            self._since, self._delay_s, self._logged = now, _FIRST_DELAY_S, now - _LOG_S
        if now - self._logged >= _LOG_S:
            self._logged = now
            seconds = round(now - self._since, 1)
            log.error("a service does not answer: the batch waits", extra={"detail": str(error), "seconds": seconds})
        metrics.SERVICE_UNAVAILABLE_SECONDS.set(now - self._since)
        delay, self._delay_s = self._delay_s, min(2 * self._delay_s, _MAX_DELAY_S)
        return delay

    def given_up(self) -> None:
        """Record that the batch was given up before an attempt succeeded."""
        self._since = None
        metrics.SERVICE_UNAVAILABLE_SECONDS.set(0)

    def over(self) -> None:
        """Record an attempt that did not fail."""
        if self._since is not None:
            log.warning("the service answers again", extra={"seconds": round(self._clock() - self._since, 1)})
            self._since = None
            metrics.SERVICE_UNAVAILABLE_SECONDS.set(0)
