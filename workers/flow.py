"""What is between polling and committing: records in order, batches in flight, and who owns which partition.

Three threads meet here (poll, compute, commit) and Kafka's own, which calls on a rebalance. Two rules keep the guarantee:

- Every batch bears the *epoch* it was taken in. When records must be read again (a transaction failed, partitions were lost, a
  revocation ran out of time) the epoch rises, the queue is emptied, and nothing of an older epoch is committed.
- A partition that is new, or must be read again, is *sought back* to its committed offset, once nothing of it is in flight;
  until then no record of it gets in. So the records of a partition are handled in order, without a gap and without a
  repetition.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from workers.batch import Batch, BatchPolicy, weight
from workers.stage import Place, Received

News = tuple[Literal["assigned", "released"], tuple[Place, ...]]


class Flow:
    """The queue and the batches in flight. All methods may be called from any thread."""

    def __init__(
        self,
        policy: BatchPolicy,
        *,
        queue_bytes: int,
        alone: Callable[[Received], bool] = lambda _: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.policy, self._clock = policy, clock
        #: Which record makes a batch of its own.
        self._alone = alone
        self.queue_bytes = queue_bytes
        self._changed = threading.Condition()
        self._epoch = 0
        self._owned: set[Place] = set()
        # How many departures there were, and which of them was a partition's last.
        self._departures = 0
        self._left: dict[Place, int] = {}
        self._queue: deque[Received] = deque()
        # When each of them came; apart, since a tuple of both would be one more object for the garbage collector to visit.
        self._came: deque[float] = deque()
        self._queued_bytes = 0
        self._in_flight: dict[int, Batch] = {}
        self._numbers = itertools.count()
        self._news: deque[News] = deque()
        self._seek_back: set[Place] = set()
        # Whether nothing may be sought back yet.
        self._held_back = False
        self._closed = False
        self._loaded = False

    # What polling does

    def owned(self) -> frozenset[Place]:
        """Our partitions."""
        with self._changed:
            return frozenset(self._owned)

    def departures(self) -> int:
        """How often partitions have left so far. Ask before seeking back, and hand it to ``sought_back``."""
        with self._changed:
            return self._departures

    def offer(self, records: Iterable[Received]) -> None:
        """Queues what a poll returned, but for partitions that are not ours or are to be sought back.

        So a partition that left, or came, or both, while the poll was under way adds nothing.
        """
        with self._changed:
            now = self._clock()
            for record in records:
                place = (record.topic, record.partition)
                if place not in self._owned or place in self._seek_back:
                    continue
                self._queue.append(record)
                self._came.append(now)
                self._queued_bytes += weight(record)
            self._changed.notify_all()

    def full(self) -> bool:
        """Whether polling should pause."""
        with self._changed:
            return self._queued_bytes >= self.queue_bytes

    def drained(self) -> bool:
        """Whether paused partitions may resume: at a quarter of the bound, so that pausing does not flutter."""
        with self._changed:
            return self._queued_bytes <= self.queue_bytes // 4

    def idle(self) -> bool:
        """Nothing queued, in flight or to be read again: the consumer's position is what can be committed."""
        with self._changed:
            return not (self._queue or self._in_flight or self._seek_back)

    def held(self) -> set[Place]:
        """Partitions of which records are queued or in flight."""
        with self._changed:
            return {(record.topic, record.partition) for record in self._queue} | self._places_in_flight()

    def to_seek_back(self) -> set[Place]:
        """Partitions to seek to their committed offsets now; none while a batch that holds one is in flight."""
        with self._changed:
            return set() if self._held_back else self._seek_back - self._places_in_flight()

    def sought_back(self, place: Place, departures: int) -> None:
        """The consumer stands at the committed offset of this partition: its records are welcome again.

        Unless it left and came back since ``departures``: then that offset may be from before, and it is sought back anew.
        """
        with self._changed:
            if self._left.get(place, 0) <= departures:
                self._seek_back.discard(place)
            elif place in self._owned:
                self._seek_back.add(place)

    # What a rebalance does

    def assign(self, places: Iterable[Place]) -> None:
        """These are ours now, and are sought to their committed offsets before any record of theirs gets in.

        The consumer has a partition a moment before its listener hears of it, and a poll in that moment moves its position on.
        """
        with self._changed:
            places = tuple(places)
            self._owned.update(places)
            self._seek_back.update(places)
            self._news.append(("assigned", places))
            self._changed.notify_all()

    def revoke(self, places: Iterable[Place], deadline_s: float) -> bool:
        """Gives partitions up once nothing of theirs is in flight, or after ``deadline_s`` gives up what is in flight.

        Returns whether it was finished in time.
        """
        leaving = set(places)
        with self._changed:
            self._leave(leaving)
            self._drop(leaving)
            in_time = self._changed.wait_for(lambda: not leaving & self._places_in_flight(), deadline_s)
            if not in_time:
                self._discard()
            self._news.append(("released", tuple(leaving)))
            self._changed.notify_all()
            return in_time

    def lose(self, places: Iterable[Place]) -> None:
        """Partitions are another's already: what is in flight can no longer be committed."""
        with self._changed:
            leaving = tuple(places)
            self._leave(leaving)
            self._discard()
            self._news.append(("released", leaving))
            self._changed.notify_all()

    # What computing does

    def news(self) -> list[News]:
        """Partitions that came and went since the last call, in order; the stage hears it before it sees their records."""
        with self._changed:
            told = list(self._news)
            self._news.clear()
            return told

    def waiting(self) -> bool:
        """Whether records wait to be handled."""
        with self._changed:
            return bool(self._queue)

    def oldest_s(self) -> float:
        """Seconds that the oldest of the records that wait has waited; 0 when none does."""
        with self._changed:
            return self._clock() - self._came[0] if self._came else 0.0

    def take(self, timeout_s: float) -> Batch | None:
        """The next batch, by the policy; None when there is none within ``timeout_s``, or news must be heard first."""
        with self._changed:
            loaded = bool(self._queue)
            if not self._changed.wait_for(lambda: self._queue or self._news or self._closed, timeout_s):
                self._loaded = False
                return None
            if self._closed or self._news:
                return None
            if loaded and self._loaded:
                left = self.policy.linger_s - self.oldest_s()
                self._changed.wait_for(lambda: self._closed or self._news or self._complete(), max(0.0, left))
                if self._closed or self._news:
                    return None
            self._loaded = loaded
            number, size = self.policy.cut(self._joinable())
            if not number:  # dropped while lingering
                return None
            records = [self._queue.popleft() for _ in range(number)]
            for _ in range(number):
                self._came.popleft()
            self._queued_bytes -= size
            batch = Batch(next(self._numbers), self._epoch, records, size)
            self._in_flight[batch.number] = batch
            return batch

    def wait_for(self, batch: Batch, timeout_s: float) -> bool:
        """Returns once the batch is no longer in flight; False when that took longer."""
        with self._changed:
            return self._changed.wait_for(lambda: batch.number not in self._in_flight, timeout_s)

    # What committing does

    def current(self, batch: Batch) -> bool:
        """Whether the batch may still be committed."""
        with self._changed:
            return batch.epoch == self._epoch

    def done(self, batch: Batch) -> None:
        """The batch is committed, or given up."""
        with self._changed:
            self._in_flight.pop(batch.number, None)
            self._changed.notify_all()

    def discard(self, *, hold: bool = False) -> None:
        """A transaction failed: everything uncommitted is to be read again; with ``hold`` not before ``resume``."""
        with self._changed:
            self._held_back = hold
            self._discard()
            self._changed.notify_all()

    def resume(self, *, renew: bool) -> None:
        """What was held back may be read again.

        With ``renew`` the stage first hears that its partitions went and came: it is not known whether the transaction was
        committed, so a store beside it must be looked after.
        """
        with self._changed:
            if renew and self._owned:
                owned = tuple(self._owned)
                self._news += [("released", owned), ("assigned", owned)]
            self._held_back = False
            self._changed.notify_all()

    # The end

    def close(self) -> None:
        """No batch is taken any more; those in flight go on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def closed(self) -> bool:
        """Whether the worker is ending."""
        with self._changed:
            return self._closed

    def abandon(self) -> None:
        """The worker ends: nothing in flight will be committed, so nobody need wait for it."""
        with self._changed:
            self._discard()
            self._in_flight.clear()
            self._closed = True
            self._changed.notify_all()

    # Under the lock

    def _leave(self, places: Iterable[Place]) -> None:
        self._departures += 1
        self._owned.difference_update(places)
        self._left.update((place, self._departures) for place in places)

    def _places_in_flight(self) -> set[Place]:
        return {place for batch in self._in_flight.values() for place in batch.positions}

    def _joinable(self) -> Iterator[int]:
        """The bytes of the first records that wait, up to one that makes a batch of its own."""
        if self._queue and self._alone(self._queue[0]):
            return iter([weight(self._queue[0])])
        return map(weight, itertools.takewhile(lambda record: not self._alone(record), self._queue))

    def _complete(self) -> bool:
        return self.policy.full(len(self._queue), self._queued_bytes) or (bool(self._queue) and self._alone(self._queue[0]))

    def _drop(self, leaving: set[Place]) -> None:
        self._seek_back -= leaving
        kept = [each for each in zip(self._queue, self._came, strict=True) if (each[0].topic, each[0].partition) not in leaving]
        self._queue, self._came = deque(record for record, _ in kept), deque(came for _, came in kept)
        self._queued_bytes = sum(map(weight, self._queue))

    def _discard(self) -> None:
        self._epoch += 1
        self._queue.clear()
        self._came.clear()
        self._queued_bytes = 0
        self._seek_back = set(self._owned)
