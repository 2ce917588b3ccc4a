"""Stall detection: finds a partition that has records to read and whose committed offset does not move."""

from __future__ import annotations

from workers.errors import Stalled
from workers.records import Partition


class StallDetector:
    """The last progress of each partition. All times are seconds of the caller's monotonic clock."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        #: By partition, the committed offset when it last moved and the time of that move.
        self._moved: dict[Partition, tuple[int, float]] = {}
        #: Time of the latest move of any partition.
        self._any_moved = 0.0

    def __contains__(self, partition: Partition) -> bool:
        return partition in self._moved

    def observe(self, partition: Partition, position: int, lag: int, now: float, *, excused: bool, queued: bool) -> None:
        """Record a partition's committed offset and its lag in records.

        ``excused``: the offset may stand still for any time. ``queued``: its records wait behind those of other partitions, so
        progress of another partition counts. Raises Stalled after ``timeout_s`` without progress.
        """
        before = self._moved.get(partition)
        if lag == 0 or excused or before is None or before[0] != position:
            self._moved[partition] = (position, now)
            self._any_moved = now
        elif queued and now - self._any_moved < self.timeout_s:
            pass
        elif now - before[1] > self.timeout_s:
            raise Stalled(
                f"{partition[0]}[{partition[1]}]: the committed offset {position} has not moved for {now - before[1]:.0f} s, "
                f"with {lag} records to read: the process ends so that it is restarted"
            )

    def forget(self, partition: Partition) -> None:
        """Forget a partition that the worker no longer owns. If it returns, it does not count as stalled."""
        self._moved.pop(partition, None)
