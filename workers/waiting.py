"""Records between polling and computing: in order, with what they weigh and when they came. No locks: the flow has them."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable

from workers.batch import BatchPolicy, weight
from workers.stage import Place, Received


class Waiting:
    """A queue of records. ``alone`` says which record makes a batch of its own; times are of the caller's clock.

    Records of ``background`` topics wait like all others, and do not count as ``live``.
    """

    def __init__(self, alone: Callable[[Received], bool], background: Collection[str] = ()) -> None:
        self._alone, self._background = alone, frozenset(background)
        self._records: deque[Received] = deque()
        # Apart, since a tuple of both would be one more object for the garbage collector to visit.
        self._came: deque[float] = deque()
        #: What they weigh together.
        self.bytes = 0
        #: How many are live.
        self.live = 0

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Received, now: float) -> None:
        """One more, at the end."""
        self._records.append(record)
        self._came.append(now)
        self.bytes += weight(record)
        self.live += record.topic not in self._background

    def oldest_s(self, now: float) -> float:
        """Seconds that the first has waited; 0 without one."""
        return now - self._came[0] if self._came else 0.0

    def places(self) -> set[Place]:
        """Partitions of which records wait."""
        return {(record.topic, record.partition) for record in self._records}

    def complete(self, policy: BatchPolicy) -> bool:
        """Whether the next batch need not wait for more."""
        return policy.full(len(self), self.bytes) or (bool(self._records) and self._alone(self._records[0]))

    def cut(self, policy: BatchPolicy) -> tuple[list[Received], int]:
        """Takes the records of the next batch away; and what they weigh. None when none waits."""
        first = self._records[0] if self._records else None
        if first is not None and self._alone(first):
            joinable = iter([weight(first)])
        else:
            joinable = map(weight, itertools.takewhile(lambda record: not self._alone(record), self._records))
        number, size = policy.cut(joinable)
        records = [self._records.popleft() for _ in range(number)]
        for _ in range(number):
            self._came.popleft()
        self.bytes -= size
        self.live -= self._count_live(records)
        return records, size

    def drop(self, leaving: Collection[Place]) -> None:
        """Without the records of these partitions."""
        kept = [
            each for each in zip(self._records, self._came, strict=True) if (each[0].topic, each[0].partition) not in leaving
        ]
        self._records, self._came = deque(record for record, _ in kept), deque(came for _, came in kept)
        self.bytes = sum(map(weight, self._records))
        self.live = self._count_live(self._records)

    def clear(self) -> None:
        """Drops all."""
        self._records.clear()
        self._came.clear()
        self.bytes = self.live = 0

    def _count_live(self, records: Iterable[Received]) -> int:
        return sum(record.topic not in self._background for record in records)
