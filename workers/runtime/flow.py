"""The state between polling and committing: owned partitions, queued records and batches in flight, under one lock.

A partition is sought to its committed offset, then its records pass through the queue and a batch::

                                ┌───────────────── discard ──────────────────┐
                                ▼                                            │
    unassigned ──assign──▶ to seek back ──sought_back──▶ reading ─▶ queued ─▶ in flight ─▶ committed
         ▲                      │                           │         │         │
         └──────────────────────┴──── revoke, lose ─────────┴─────────┘

A revocation waits until the batches in flight of its partitions are committed or given up; a loss makes them outdated.

``partitions.py`` and ``partition_states.py`` have the states of a partition, ``in_flight.py`` those of a batch, and
``record_queue.py`` the order of the records. The poll, compute and commit threads use the flow, and kafka-python's own thread,
which calls ``Flow.partitions`` on a rebalance.

Three rules keep the exactly-once guarantee:

1. Every batch carries the *epoch* in which it was taken. The epoch rises when records must be read again: a transaction failed,
   partitions were lost, or a revocation exceeded its deadline. The queue is then emptied, and no batch of an older epoch is
   committed.
2. A batch is committed with the member id and generation under which its partitions were assigned, never with those that the
   client reports at the commit: the client reports none after its member was removed, and the broker does not fence a
   transaction without them. So the broker refuses the commit of a removed member, and of a member that joined again under
   another id; the epoch of the latter has risen as well.
3. A partition that is new or must be read again is *sought back* to its committed offset once none of its records is in flight.
   Until then its records are not queued, and the stage is not notified of a new one. From there on the offsets of its queued
   records only rise, though kafka-python may go back when it takes a log for truncated (KIP-320) or an offset for out of range.
   So the records of a partition are handled in order, without gaps or repetitions.

A background task is a batch without records that commits the offsets of its partitions unchanged. All rules apply.

Cost: one lock. Queueing and taking do constant work per record; ``held``, ``revoke`` and a discard visit every queued record.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from kafka import ConsumerGroupMetadata

from workers.records import Partition, Received
from workers.runtime.batching import Batch, BatchPolicy
from workers.runtime.in_flight import InFlight
from workers.runtime.partitions import Partitions
from workers.runtime.record_queue import Background, Queued, RecordQueue, never
from workers.telemetry.outage import Outage

#: How long an idle commit waits for a background task before it gives way, in seconds.
GIVE_WAY_S: Final = 1.0
#: How long a background task waits for an idle commit, which has its own deadlines, in seconds.
_PATIENCE_S: Final = 60.0


class Flow:
    """The queue and the batches in flight, with ``partitions``. All methods may be called from any thread.

    ``alone`` returns whether a record must form a batch of its own. ``clock`` returns seconds. ``changed`` is the condition
    that protects all state; every change notifies it.
    """

    def __init__(
        self,
        policy: BatchPolicy,
        *,
        alone: Callable[[Received], bool] = never,
        clock: Callable[[], float] = time.monotonic,
        background: Background | None = None,
        changed: threading.Condition | None = None,
    ) -> None:
        self.policy, self._clock = policy, clock
        self._changed = changed or threading.Condition()
        self._queue, self._in_flight = RecordQueue(alone, background), InFlight()
        #: The outage of a service for which the batch in flight waits.
        self.outage = Outage(clock)
        self.partitions = Partitions(self._changed, self._queue, self._in_flight)
        self._states, self._events = self.partitions.states, self.partitions.events
        # Whether an idle worker's positions are being committed.
        self._resting = False
        # Whether records were waiting when the last batch was taken.
        self._loaded = False
        self._closed = False

    # Polling

    def offer(self, records: Iterable[Received]) -> dict[Partition, tuple[int, int]]:
        """Queue polled records, except records of partitions that are not owned or must be sought back.

        A partition that arrived or left during the poll therefore adds no records. Records that were offered before are left
        out too: the consumer went back by itself. Returns the partitions where it is still behind: the first offset that was
        left out, and the offset from which records are queued.
        """
        with self._changed:
            repeated: dict[Partition, tuple[int, int]] = {}
            now = self._clock()
            for record in records:
                partition = (record.topic, record.partition)
                following = self._states.next_offset(partition)
                if following is None:
                    continue
                if record.offset < following:
                    repeated.setdefault(partition, (record.offset, following))
                    continue
                self._states.advance(partition, record.offset + 1)
                self._queue.add(record, now)
            self._changed.notify_all()
            return {each: offsets for each, offsets in repeated.items() if self._states.next_offset(each) == offsets[1]}

    def queued(self) -> Queued:
        """Return the number and bytes of the queued records."""
        with self._changed:
            return self._queue.sizes()

    def idle(self) -> bool:
        """Return whether no live record is queued, no batch is in flight and no partition must be read again.

        The consumer's positions can then be committed, except those of ``held`` partitions, where background records wait.
        """
        with self._changed:
            return not (self._queue.sizes().live or self._in_flight or self._states.to_seek_back())

    @contextmanager
    def rest(self) -> Iterator[bool]:
        """Block background tasks while an idle worker's positions are committed. Yield whether the flow is idle.

        The poll thread must enter this context: it then queues no records, so only records of ``held`` partitions can form a
        batch. The context waits up to ``GIVE_WAY_S`` for a background task in flight, because consecutive tasks would keep the
        positions from being committed. A task that began before a position advanced would set that position back.
        """
        with self._changed:
            busy = self._queue.sizes().live or self._states.to_seek_back() or self._in_flight.with_records()
            self._resting = not busy
            if self._resting:
                self._changed.wait_for(lambda: not self._in_flight, GIVE_WAY_S)
        try:
            yield self._resting and self.idle()
        finally:
            with self._changed:
                self._resting = False
                self._changed.notify_all()

    def held(self) -> set[Partition]:
        """Return the partitions with records queued or in flight."""
        with self._changed:
            return self._queue.partitions() | self._in_flight.with_records()

    def handled(self) -> set[Partition]:
        """Return the partitions with records in flight."""
        with self._changed:
            return self._in_flight.with_records()

    # Computing

    def wanted(self, partition: Partition) -> bool:
        """Return whether the worker is not ending and has owned the partition without a gap since the stage was notified."""
        with self._changed:
            return partition in self._states.owned() and not self._events.releases(partition) and not self._closed

    def live_wait_s(self) -> float | None:
        """Return the seconds that the oldest live record has waited; None if none waits."""
        with self._changed:
            return self._queue.live_wait_s(self._clock())

    def take(self, timeout_s: float) -> Batch | None:
        """Return the next batch by the policy.

        None if no batch is ready within ``timeout_s``, if the stage must process assignment events first, or after ``close``.
        """
        with self._changed:
            loaded = self._ready()
            if not self._changed.wait_for(lambda: self._ready() or self._interrupted(), timeout_s):
                self._loaded = False
                return None
            if loaded and self._loaded and not self._interrupted():
                left = self.policy.linger_s - self._queue.wait_s(self._clock())
                self._changed.wait_for(lambda: self._interrupted() or self._complete(), max(0.0, left))
            if self._interrupted():
                return None
            self._loaded = loaded
            records, size = self._queue.cut(self.policy, self._clock())
            if not records:  # dropped while lingering, or no longer ready
                return None
            return self._in_flight.start(records, size)

    def background_batch(self, partitions: Iterable[Partition], committed: Mapping[Partition, int]) -> Batch | None:
        """Start the batch of a background task, which commits the ``committed`` offsets of these partitions unchanged.

        None if another batch stays in flight, if a partition has no offset in ``committed``, is not owned or must be read
        again, or if an assignment event arrived since the last call of ``assignment_event``: the task's output would be stale.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._busy() or self._interrupted(), _PATIENCE_S)
            required = set(partitions)
            if self._busy() or not self.undisturbed(required):
                return None
            if self._states.to_seek_back() & required or required - committed.keys():
                return None
            return self._in_flight.start([], positions={each: committed[each] for each in required})

    def idle_batch(self, positions: Mapping[Partition, int], departures: int) -> Batch | None:
        """Start a batch without records that commits these positions of an idle worker. Call it within ``rest``.

        None if the worker is not idle any more, or if a partition left after ``departures`` was read: the positions are stale.
        """
        with self._changed:
            if self._in_flight or self._states.to_seek_back() or self._states.departures != departures:
                return None
            return self._in_flight.start([], positions=dict(positions))

    def undisturbed(self, partitions: Iterable[Partition]) -> bool:
        """Return whether these partitions are owned, no assignment event is waiting and the worker is not ending."""
        with self._changed:
            return self._states.owned().issuperset(partitions) and not self._interrupted()

    def wait_for(self, batch: Batch, timeout_s: float) -> bool:
        """Wait until the batch is no longer in flight. Return False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: batch not in self._in_flight, timeout_s)

    # Committing

    def current(self, batch: Batch) -> bool:
        """Return whether the batch may still be committed."""
        with self._changed:
            return self._in_flight.current([batch])

    def membership(self, batches: Iterable[Batch]) -> ConsumerGroupMetadata | None:
        """Return the member id and generation for the commit of these batches; None if any must not be committed."""
        with self._changed:
            return self.partitions.membership if self._in_flight.current(batches) else None

    def done(self, batch: Batch) -> None:
        """Remove a batch that was committed or given up from the batches in flight."""
        with self._changed:
            self._in_flight.done(batch)
            self._changed.notify_all()

    def discard(self, *, hold: bool = False) -> None:
        """Discard everything uncommitted after a failed transaction. It is read again, with ``hold`` only after ``resume``."""
        with self._changed:
            self.partitions.suspended = hold
            self.partitions.discard()

    def resume(self, *, renew: bool) -> None:
        """End the suspension of seeking back that ``discard`` with ``hold`` began.

        With ``renew`` the stage first receives its partitions as released and assigned: the result of the transaction is
        unknown, so the stage must restore a store that it keeps beside Kafka.
        """
        with self._changed:
            if renew:
                self.partitions.restore()
            self.partitions.suspended = False
            self._changed.notify_all()

    # Shutdown

    def closed(self) -> bool:
        """Return whether the worker is ending."""
        with self._changed:
            return self._closed

    def close(self) -> None:
        """Stop handing out batches; those in flight continue."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Discard the batches in flight and release the threads that wait for them, because the worker ends."""
        with self._changed:
            self.partitions.discard()
            self._in_flight.clear()
            self._closed = True
            self._changed.notify_all()

    # Helpers; the caller holds the lock

    def _ready(self) -> bool:
        return self._queue.ready(self._clock())

    def _complete(self) -> bool:
        return self._queue.complete(self.policy, self._clock())

    def _interrupted(self) -> bool:
        return bool(self._events) or self._closed

    def _busy(self) -> bool:
        return self._resting or bool(self._in_flight)
