"""Records between polling and computing: in order, with what they weigh and when they came. No locks: the flow has them."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

from workers.batch import BatchPolicy, weight
from workers.stage import Place, Received, Stage

#: So many records of the background wait for no others.
_ENOUGH: Final = 100


def _always(_: Received, __: float) -> bool:
    return True


def never(_: Received) -> bool:
    """No record must be alone."""
    return False


@dataclass(frozen=True)
class Background:
    """Topics whose records wait behind live ones; what the stage says of them (see workers.stage.Stage).

    ``ready`` is asked of a record and of how many seconds it has waited; ``linger_s``: alone they wait so long for others, but
    when there are ``enough`` of them.
    """

    topics: frozenset[str] = frozenset()
    ready: Callable[[Received, float], bool] = _always
    linger_s: float = 0.0
    enough: int = _ENOUGH

    @classmethod
    def of(cls, stage: Stage[Any, Any], records: int) -> Self:
        """A stage's, whose batches have at most so many ``records``."""
        topics = frozenset(stage.background_inputs)
        return cls(topics, stage.ready, stage.background_linger_s, min(_ENOUGH, records))


class _Line:
    """Records in order, when each came, and what they weigh together."""

    def __init__(self) -> None:
        self.bytes = 0
        self.records: deque[Received] = deque()
        # Apart, since a tuple of both would be one more object for the garbage collector to visit.
        self._came: deque[float] = deque()

    def __len__(self) -> int:
        return len(self.records)

    def add(self, record: Received, now: float) -> None:
        self.records.append(record)
        self._came.append(now)
        self.bytes += weight(record)

    def oldest_s(self, now: float) -> float:
        return now - self._came[0] if self._came else 0.0

    def ages(self, now: float) -> Iterator[tuple[Received, float]]:
        """Each with the seconds that it has waited."""
        return ((record, now - came) for record, came in zip(self.records, self._came, strict=True))

    def take(self, number: int) -> list[Received]:
        for _ in range(number):
            self._came.popleft()
        taken = [self.records.popleft() for _ in range(number)]
        self.bytes -= sum(map(weight, taken))
        return taken

    def drop(self, leaving: Collection[Place]) -> None:
        kept = [
            each for each in zip(self.records, self._came, strict=True) if (each[0].topic, each[0].partition) not in leaving
        ]
        self.records, self._came = deque(record for record, _ in kept), deque(came for _, came in kept)
        self.bytes = sum(map(weight, self.records))

    def clear(self) -> None:
        self.records.clear()
        self._came.clear()
        self.bytes = 0


class Waiting:
    """A queue of records, live ones before those of the background. ``alone`` says which record makes a batch of its own.

    Times are of the caller's clock. Order holds within a partition, and a topic is live or not.
    """

    def __init__(self, alone: Callable[[Received], bool] = never, background: Background | None = None) -> None:
        self._alone, self._background = alone, background or Background()
        self._live, self._behind = _Line(), _Line()

    def __len__(self) -> int:
        return len(self._live) + len(self._behind)

    @property
    def live(self) -> int:
        """How many are live."""
        return len(self._live)

    @property
    def live_bytes(self) -> int:
        """What those weigh together."""
        return self._live.bytes

    @property
    def behind(self) -> int:
        """How many are of the background."""
        return len(self._behind)

    @property
    def behind_bytes(self) -> int:
        """What those weigh together."""
        return self._behind.bytes

    def add(self, record: Received, now: float) -> None:
        """One more, behind those of its kind."""
        (self._behind if record.topic in self._background.topics else self._live).add(record, now)

    def live_s(self, now: float) -> float:
        """Seconds that the first live one has waited; 0 without one."""
        return self._live.oldest_s(now)

    def oldest_s(self, now: float) -> float:
        """Seconds that the first of the next batch has waited; 0 without one."""
        return (self._live or self._behind).oldest_s(now)

    def places(self) -> set[Place]:
        """Partitions of which records wait."""
        return {(record.topic, record.partition) for record in (*self._live.records, *self._behind.records)}

    def ready(self, now: float) -> bool:
        """Whether a batch can be cut."""
        if self._live:
            return True
        if not self._first_is_ready(now):
            return False
        return len(self._behind) >= self._background.enough or self._behind.oldest_s(now) >= self._background.linger_s

    def complete(self, policy: BatchPolicy, now: float) -> bool:
        """Whether the next batch need not wait for more."""
        line = self._live if self._live or not self._first_is_ready(now) else self._behind
        return bool(line) and (self._alone(line.records[0]) or policy.full(len(line), line.bytes))

    def cut(self, policy: BatchPolicy, now: float) -> tuple[list[Received], int]:
        """Takes the records of the next batch away; and what they weigh. None when none waits, or none is ready.

        Live ones first, and with them at most as many of the background, as far as these are ready.
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
        return self._live.take(live) + self._behind.take(number - live), size

    def drop(self, leaving: Collection[Place]) -> None:
        """Without the records of these partitions."""
        for line in (self._live, self._behind):
            line.drop(leaving)

    def clear(self) -> None:
        """Drops all."""
        self._live.clear()
        self._behind.clear()

    def _first_is_ready(self, now: float) -> bool:
        return bool(self._behind) and self._background.ready(self._behind.records[0], self._behind.oldest_s(now))

    def _next(self, now: float) -> Iterator[Received]:
        """In the order in which they go into the next batch, as far as they are ready."""
        yield from self._live.records
        ready = itertools.takewhile(lambda each: self._background.ready(*each), self._behind.ages(now))
        # A live record is answered when all of its batch is judged.
        yield from itertools.islice((record for record, _ in ready), len(self._live) or None)
