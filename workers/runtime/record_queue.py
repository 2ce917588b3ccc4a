"""The record queue between polling and computing: records in order, with their sizes and arrival times.

Invariants:

1. Records of a partition leave in the order of arrival, because each of the two lines is first in, first out, and a topic
   belongs to one line only.
2. Live records enter a batch before background records.
3. A batch with live records contains at most as many background records as live ones, because a live record is answered only
   when its whole batch has been handled.

The queue has no lock; the caller (``Flow``) holds its own. Adding or removing one record costs O(1); ``drop`` and
``partitions`` cost O(n).
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from workers.records import Partition, Received
from workers.runtime.batching import BatchPolicy, weight
from workers.stage import Stage

#: Number of background records that do not wait for more.
_ENOUGH: Final = 100


def _always(_: Received, __: float) -> bool:
    return True


def never(_: Received) -> bool:
    """Return False: no record must form a batch of its own."""
    return False


@dataclass(frozen=True)
class Background:
    """Topics whose records wait behind live ones, with the stage's rules for them (see workers.stage.Stage).

    ``ready``: function of a record and the seconds it has waited; whether it can be handled without waiting. ``linger_s``:
    maximum seconds that background records alone wait for more. ``enough``: number of records that do not wait.
    """

    topics: frozenset[str] = frozenset()
    ready: Callable[[Received, float], bool] = _always
    linger_s: float = 0.0
    enough: int = _ENOUGH

    @classmethod
    def of(cls, stage: Stage[Any, Any], records: int) -> Self:
        """Return the background of ``stage``; its batches have at most ``records`` records."""
        topics = frozenset(stage.background_inputs)
        return cls(topics, stage.ready, stage.background_linger_s, min(_ENOUGH, records))


class _Line:
    """Records in order, their arrival times, and their total size in bytes."""

    def __init__(self) -> None:
        self.bytes = 0
        self.records: deque[Received] = deque()
        # A separate deque: a tuple per record would be one more object for the garbage collector to visit.
        self._arrived: deque[float] = deque()

    def __len__(self) -> int:
        return len(self.records)

    def add(self, record: Received, now: float) -> None:
        self.records.append(record)
        self._arrived.append(now)
        self.bytes += weight(record)

    def oldest_s(self, now: float) -> float:
        return now - self._arrived[0] if self._arrived else 0.0

    def ages(self, now: float) -> Iterator[tuple[Received, float]]:
        """Return each record with the seconds that it has waited."""
        return ((record, now - arrived) for record, arrived in zip(self.records, self._arrived, strict=True))

    def take(self, number: int) -> list[Received]:
        for _ in range(number):
            self._arrived.popleft()
        taken = [self.records.popleft() for _ in range(number)]
        self.bytes -= sum(map(weight, taken))
        return taken

    def drop(self, leaving: Collection[Partition]) -> None:
        kept = [
            each for each in zip(self.records, self._arrived, strict=True) if (each[0].topic, each[0].partition) not in leaving
        ]
        self.records, self._arrived = deque(record for record, _ in kept), deque(arrived for _, arrived in kept)
        self.bytes = sum(map(weight, self.records))

    def clear(self) -> None:
        self.records.clear()
        self._arrived.clear()
        self.bytes = 0


class Queued(NamedTuple):
    """Number and bytes of the live and of the background records in the queue."""

    live: int
    live_bytes: int
    background: int
    background_bytes: int


class RecordQueue:
    """A queue of records, live ones before background ones. ``alone``: whether a record must form a batch of its own.

    Times are seconds of the caller's clock.
    """

    def __init__(self, alone: Callable[[Received], bool] = never, background: Background | None = None) -> None:
        self._alone, self._rules = alone, background or Background()
        self._live, self._background = _Line(), _Line()

    def sizes(self) -> Queued:
        """Return the number and bytes of the records."""
        return Queued(len(self._live), self._live.bytes, len(self._background), self._background.bytes)

    def add(self, record: Received, now: float) -> None:
        """Append a record to the live or the background line."""
        (self._background if record.topic in self._rules.topics else self._live).add(record, now)

    def live_wait_s(self, now: float) -> float | None:
        """Return the seconds that the first live record has waited; None if there is none."""
        return self._live.oldest_s(now) if self._live else None

    def wait_s(self, now: float) -> float:
        """Return the seconds that the first record of the next batch has waited; 0 if there is none."""
        return (self._live or self._background).oldest_s(now)

    def partitions(self) -> set[Partition]:
        """Return the partitions that have records in the queue."""
        return {(record.topic, record.partition) for record in (*self._live.records, *self._background.records)}

    def ready(self, now: float) -> bool:
        """Return whether a batch can be cut."""
        if self._live:
            return True
        if not self._first_is_ready(now):
            return False
        return len(self._background) >= self._rules.enough or self._background.oldest_s(now) >= self._rules.linger_s

    def complete(self, policy: BatchPolicy, now: float) -> bool:
        """Return whether the next batch need not wait for more records."""
        line = self._live if self._live or not self._first_is_ready(now) else self._background
        return bool(line) and (self._alone(line.records[0]) or policy.full(len(line), line.bytes))

    def cut(self, policy: BatchPolicy, now: float) -> tuple[list[Received], int]:
        """Remove and return the records of the next batch, and their bytes; an empty list if no record waits and is ready.

        Live records come first. At most as many background records follow, up to the first that is not ready.
        """
        first = next(self._next(now), None)
        if first is None:
            return [], 0
        if self._alone(first):
            joinable = iter([first])
        else:
            joinable = itertools.takewhile(lambda record: not self._alone(record), self._next(now))
        number, size = policy.cut(map(weight, joinable))
        live = min(number, len(self._live))
        return self._live.take(live) + self._background.take(number - live), size

    def drop(self, leaving: Collection[Partition]) -> None:
        """Remove the records of these partitions."""
        for line in (self._live, self._background):
            line.drop(leaving)

    def clear(self) -> None:
        """Remove all records."""
        self._live.clear()
        self._background.clear()

    def _first_is_ready(self, now: float) -> bool:
        return bool(self._background) and self._rules.ready(self._background.records[0], self._background.oldest_s(now))

    def _next(self, now: float) -> Iterator[Received]:
        """Yield records in the order of the next batch, up to the first background record that is not ready."""
        yield from self._live.records
        ready = itertools.takewhile(lambda each: self._rules.ready(*each), self._background.ages(now))
        # At most as many as live records: a live record is answered only when its whole batch has been handled.
        yield from itertools.islice((record for record, _ in ready), len(self._live) or None)
