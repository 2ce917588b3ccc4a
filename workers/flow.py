"""What is between polling and committing: records in order, live ones first, batches in flight, and who owns which partition.

Three threads meet here (poll, compute, commit) and Kafka's own, which calls on a rebalance. Two rules keep the guarantee:

- Every batch bears the *epoch* it was taken in. When records must be read again (a transaction failed, partitions were lost, a
  revocation ran out of time) the epoch rises, the queue is emptied, and nothing of an older epoch is committed.
- A partition that is new, or must be read again, is *sought back* to its committed offset, once nothing of it is in flight;
  until then no record of it gets in, and the stage does not know of it. So the records of a partition are handled in order,
  without a gap and without a repetition.

A chore is a batch without records, and both rules hold for it: it is for partitions, and says that they stand where they stood.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from workers.batch import Batch, BatchPolicy
from workers.in_flight import GIVE_WAY_S, InFlight
from workers.stage import Place, Received
from workers.waiting import Background, Waiting, never


class Flow(InFlight):
    """The queue and what is in flight. All methods may be called from any thread."""

    def __init__(
        self,
        policy: BatchPolicy,
        *,
        queue_bytes: int,
        alone: Callable[[Received], bool] = never,
        clock: Callable[[], float] = time.monotonic,
        background: Background | None = None,
    ) -> None:
        super().__init__()
        self.policy, self._clock = policy, clock
        self.queue_bytes = queue_bytes
        #: ``alone``: which record makes a batch of its own.
        self._queue = Waiting(alone, background)
        self._loaded = False

    # What polling does

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
                self._queue.add(record, now)
            self._changed.notify_all()

    def full(self) -> bool:
        """Whether polling should pause."""
        with self._changed:
            return self._queue.live_bytes >= self.queue_bytes

    def drained(self) -> bool:
        """Whether paused partitions may resume: at a quarter of the bound, so that pausing does not flutter."""
        with self._changed:
            return self._queue.live_bytes <= self.queue_bytes // 4

    def full_behind(self) -> bool:
        """Whether polling should pause the background, whose records may wait for long."""
        with self._changed:
            return self._queue.behind >= self.policy.records or self._queue.behind_bytes >= self.queue_bytes // 4

    def idle(self) -> bool:
        """Nothing live queued, nothing in flight or to be read again.

        The consumer's position is what can be committed, but for partitions that are ``held``: of the background.
        """
        with self._changed:
            return not (self._queue.live or self._in_flight or self._seek_back)

    @contextmanager
    def rest(self) -> Iterator[bool]:
        """While it lasts no chore begins, and on the poll thread no batch but of what is held. Yields whether it is idle.

        A chore in flight is waited for a while: one after the other would keep the positions from being committed. And a chore
        that began before a position moved on would set it back.
        """
        with self._changed:
            self._resting = not (
                self._queue.live or self._seek_back or any(batch.records for batch in self._in_flight.values())
            )
            if self._resting:
                self._changed.wait_for(lambda: not self._in_flight, GIVE_WAY_S)
        try:
            yield self._resting and self.idle()
        finally:
            with self._changed:
                self._resting = False
                self._changed.notify_all()

    def held(self) -> set[Place]:
        """Partitions of which records are queued or in flight."""
        with self._changed:
            return self._queue.places() | self._handled()

    def handled(self) -> set[Place]:
        """Partitions of which records are in flight."""
        with self._changed:
            return self._handled()

    # What a rebalance does

    def assign(self, places: Iterable[Place]) -> None:
        """These are ours now, and are sought to their committed offsets before any record of theirs gets in.

        The consumer has a partition a moment before its listener hears of it, and a poll in that moment moves its position on.
        """
        with self._changed:
            places = tuple(places)
            self._owned.update(places)
            self._seek_back.update(places)
            self._untold.update(places)

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

    def live_s(self) -> float | None:
        """Seconds that the oldest live record has waited; None when none waits."""
        with self._changed:
            return self._queue.live_s(self._clock()) if self._queue.live else None

    def oldest_s(self) -> float:
        """Seconds that the first record of the next batch has waited; 0 when none does."""
        with self._changed:
            return self._queue.oldest_s(self._clock())

    def take(self, timeout_s: float) -> Batch | None:
        """The next batch, by the policy; None when there is none within ``timeout_s``, or news must be heard first."""
        with self._changed:
            loaded = self._ready()
            if not self._changed.wait_for(lambda: self._ready() or self._news or self._closed, timeout_s):
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
            records, size = self._queue.cut(self.policy, self._clock())
            if not records:  # dropped while lingering, or no longer ready
                return None
            return self._launch(Batch(next(self._numbers), self._epoch, records, size))

    # What committing does

    def discard(self, *, hold: bool = False) -> None:
        """A transaction failed: everything uncommitted is to be read again; with ``hold`` not before ``resume``."""
        with self._changed:
            self._held_back = hold
            self._discard()
            self._changed.notify_all()

    # The end

    def close(self) -> None:
        """No batch is taken any more; those in flight go on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """The worker ends: nothing in flight will be committed, so nobody need wait for it."""
        with self._changed:
            self._discard()
            self._in_flight.clear()
            self._closed = True
            self._changed.notify_all()

    # Under the lock

    def _ready(self) -> bool:
        return self._queue.ready(self._clock())

    def _complete(self) -> bool:
        return self._queue.complete(self.policy, self._clock())

    def _handled(self) -> set[Place]:
        return {place for batch in self._in_flight.values() if batch.records for place in batch.positions}

    def _drop(self, leaving: set[Place]) -> None:
        self._seek_back -= leaving
        self._queue.drop(leaving)

    def _discard(self) -> None:
        self._epoch += 1
        self._queue.clear()
        self._seek_back = set(self._owned)
