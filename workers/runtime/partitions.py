"""The input partitions of a worker in rebalances and after discards: ownership, seeking back, and the stage's notifications.

Invariant: no record of a partition is queued, and the stage has not been notified of a new one, before the consumer has been
sought to the committed offset with no batch of the partition in flight. ``partition_states.py`` draws the states.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from kafka import ConsumerGroupMetadata

from workers.records import Partition
from workers.runtime.in_flight import InFlight
from workers.runtime.partition_states import AssignmentEvent, AssignmentEvents, PartitionStates
from workers.runtime.record_queue import RecordQueue


class Partitions:
    """A part of ``Flow``, under its lock ``changed``. All methods may be called from any thread."""

    def __init__(self, changed: threading.Condition, queue: RecordQueue, in_flight: InFlight) -> None:
        self._changed, self._queue, self._in_flight = changed, queue, in_flight
        #: For ``Flow``, which holds the lock when it uses them.
        self.states, self.events = PartitionStates(), AssignmentEvents()
        #: The membership under which the partitions are assigned; None before the first assignment.
        self.membership: ConsumerGroupMetadata | None = None
        #: Whether seeking back is suspended, because the committed offsets are unknown.
        self.suspended = False

    def owned(self) -> frozenset[Partition]:
        """Return the owned partitions."""
        with self._changed:
            return self.states.owned()

    def departures(self) -> int:
        """Return the number of departures so far. Read it before an offset, and pass it on with that offset."""
        with self._changed:
            return self.states.departures

    # Rebalances

    def join(
        self, membership: ConsumerGroupMetadata, partitions: Iterable[Partition], *, continued: bool
    ) -> frozenset[Partition]:
        """Record an assignment and its membership. Calls of ``assign`` and ``revoke`` for the changes follow.

        ``continued``: the member was in the group without a gap since its last assignment. Otherwise another member may have
        owned the partitions meanwhile: all of them are lost, also those assigned again. Returns the lost partitions.
        """
        with self._changed:
            lost = frozenset() if continued else self.states.owned()
            if lost:
                self.lose(lost)
                self.assign(lost & set(partitions))
            self.membership = membership
            return lost

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Take partitions over. Each is sought to its committed offset before any of its records is queued.

        kafka-python assigns a partition shortly before it calls the listener, and a poll in between advances the position.
        """
        with self._changed:
            self.states.assign(partitions)

    def revoke(self, partitions: Iterable[Partition], deadline_s: float) -> bool:
        """Give partitions up once none of their batches is in flight; after ``deadline_s`` discard the batches in flight.

        Returns whether the batches finished in time.
        """
        with self._changed:
            leaving = self.states.owned() & set(partitions)
            self.states.leave(leaving)
            self._queue.drop(leaving)
            in_time = self._changed.wait_for(lambda: not leaving & self._in_flight.partitions(), deadline_s)
            if not in_time:
                self.discard()
            self.events.released(leaving)
            self._changed.notify_all()
            return in_time

    def lose(self, partitions: Iterable[Partition]) -> None:
        """Give up partitions that another member already owns, and discard the batches in flight."""
        with self._changed:
            leaving = self.states.owned() & set(partitions)
            self.states.leave(leaving)
            self.discard()
            self.events.released(leaving)
            self._changed.notify_all()

    # Reading again

    def discard(self) -> None:
        """Discard everything uncommitted: begin a new epoch, empty the queue, and seek every partition back."""
        with self._changed:
            self._in_flight.discard()
            self._queue.clear()
            self.states.read_again()
            self._changed.notify_all()

    def to_seek_back(self) -> set[Partition]:
        """Return the partitions to seek to their committed offsets now; a partition of a batch in flight must wait."""
        with self._changed:
            return set() if self.suspended else self.states.to_seek_back() - self._in_flight.partitions()

    def sought_back(self, partition: Partition, departures: int, offset: int = 0) -> None:
        """Accept records of this partition from its committed offset on, because the consumer is there.

        If the partition left and returned after ``departures`` was read, the offset may be stale, and it is sought back again.
        The stage is notified of a new partition only now. Before, the last owner may be about to commit, and the stage's
        lookups would miss that commit. The committed offset is known only when no transaction on the partition is open.
        """
        with self._changed:
            if self.states.start_reading(partition, departures, offset):
                self.events.assigned(partition)
                self._changed.notify_all()

    def truncated(self, partition: Partition, offset: int) -> None:
        """Queue records from a lower offset on: the partition lost its end, and its offsets are assigned again."""
        with self._changed:
            self.states.advance(partition, offset)

    # The stage

    def next_event(self) -> AssignmentEvent | None:
        """Return the next assignment event, in order; None if the stage has processed all and may handle records."""
        with self._changed:
            return self.events.next()

    def processing_events(self) -> bool:
        """Return whether the stage processes assignment events. It may rebuild a store; no record is handled meanwhile."""
        with self._changed:
            return self.events.processing

    def restore(self) -> None:
        """Release and assign again all partitions of which the stage has been notified."""
        with self._changed:
            if notified := self.states.notified():
                self.events.released(notified)
                self.events.assigned(*notified)
                self._changed.notify_all()
