"""Detection of hanging transactions.

Readers of committed records stop before an open transaction, and their lag there is 0. A transaction ends within its timeout
and the broker's next check for timeouts. A transaction that stays open for longer hangs (KIP-664): its coordinator no longer
knows it, and only an operator can end it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from workers.records import Partition
from workers.telemetry import metrics

log = logging.getLogger(__name__)


class OpenTransactions:
    """Updates the metrics of each partition: records after the last stable offset, and seconds since that offset last moved.

    Logs an error every ``hanging_after_s`` seconds while the offset stands before further records. ``clock`` returns seconds.
    """

    def __init__(self, hanging_after_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._hanging_after_s, self._clock = hanging_after_s, clock
        #: Last stable offset, time since when it has stood before further records, and time of the next log line.
        self._standing: dict[Partition, tuple[int, float, float]] = {}

    def observe(self, place: Partition, stable: int, end: int) -> float:
        """Record the last stable offset and the end of a partition. Return the seconds that the offset has not moved."""
        now, (topic, partition) = self._clock(), place
        offset, since, log_at = self._standing.get(place, (-1, now, 0.0))
        if offset != stable or end <= stable:
            since, log_at = now, now + self._hanging_after_s
        metrics.OPEN_TRANSACTION_RECORDS.labels(topic, str(partition)).set(max(0, end - stable))
        metrics.OPEN_TRANSACTION_SECONDS.labels(topic, str(partition)).set(now - since)
        if now >= log_at:
            log.error(
                "a transaction hangs",
                extra={"topic": topic, "partition": partition, "offset": stable, "end": end, "seconds": round(now - since)},
            )
            log_at = now + self._hanging_after_s
        self._standing[place] = (stable, since, log_at)
        return now - since

    def forget(self, place: Partition) -> None:
        """Remove the metrics of a partition that the worker no longer owns."""
        if self._standing.pop(place, None) is not None:
            metrics.OPEN_TRANSACTION_RECORDS.remove(place[0], str(place[1]))
            metrics.OPEN_TRANSACTION_SECONDS.remove(place[0], str(place[1]))
