"""The input partitions of a worker: which it owns, from where it reads each, and what its stage has yet to learn of them.

States of a partition::

    unassigned ──assign──▶ NEW ──start_reading──▶ READING ──read_again──▶ REWINDING ──start_reading──▶ READING

``leave`` leads from every state to unassigned. Records are queued in READING only. The transition from NEW to READING creates
the stage's event "assigned"; a departure creates "released".

These classes have no lock; the caller (``Partitions``, ``Flow``) holds the lock of the flow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import Enum
from typing import Literal

from workers.records import Partition

#: An assignment event: its kind and its partitions.
AssignmentEvent = tuple[Literal["assigned", "released"], tuple[Partition, ...]]


class State(Enum):
    """State of an owned partition."""

    #: To be sought to its committed offset; the stage has not been notified.
    NEW = "new"
    #: To be sought back to its committed offset, because its uncommitted records were discarded.
    REWINDING = "rewinding"
    #: The consumer has been sought to the committed offset, and records after it are queued.
    READING = "reading"


class PartitionStates:
    """The owned partitions with their states, and for those in READING the offset of the next record to queue."""

    def __init__(self) -> None:
        self._states: dict[Partition, State] = {}
        self._next: dict[Partition, int] = {}
        #: Number of calls of ``leave``.
        self.departures = 0
        # Value of ``departures`` after the last departure of each partition.
        self._left: dict[Partition, int] = {}

    def owned(self) -> frozenset[Partition]:
        """Return the owned partitions."""
        return frozenset(self._states)

    def to_seek_back(self) -> set[Partition]:
        """Return the partitions to seek to their committed offsets, new ones included."""
        return {partition for partition, state in self._states.items() if state is not State.READING}

    def notified(self) -> set[Partition]:
        """Return the owned partitions of which the stage has been notified."""
        return {partition for partition, state in self._states.items() if state is not State.NEW}

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Take partitions over."""
        self._states.update(dict.fromkeys(partitions, State.NEW))

    def leave(self, partitions: Iterable[Partition]) -> None:
        """Give partitions up."""
        self.departures += 1
        for partition in partitions:
            self._states.pop(partition, None)
            self._left[partition] = self.departures

    def read_again(self) -> None:
        """Discard the positions of all partitions."""
        for partition, state in self._states.items():
            if state is State.READING:
                self._states[partition] = State.REWINDING

    def start_reading(self, partition: Partition, departures: int, offset: int) -> bool:
        """Queue records of a partition from its committed ``offset`` on. Return whether the stage must be notified of it.

        If the partition has left since ``departures``, the offset may be stale: an owned partition is then sought back again.
        """
        state = self._states.get(partition)
        if state is None:
            return False
        if self._left.get(partition, 0) > departures:
            if state is State.READING:
                self._states[partition] = State.REWINDING
            return False
        self._states[partition] = State.READING
        self._next[partition] = offset
        return state is State.NEW

    def next_offset(self, partition: Partition) -> int | None:
        """Return the lowest offset to queue; None if records of the partition must not be queued."""
        return self._next[partition] if self._states.get(partition) is State.READING else None

    def advance(self, partition: Partition, offset: int) -> None:
        """Set the lowest offset to queue."""
        self._next[partition] = offset


class AssignmentEvents:
    """Assignments and departures that the stage has not processed, in order."""

    def __init__(self) -> None:
        self._waiting: deque[AssignmentEvent] = deque()
        #: Whether the stage is processing events: the last call of ``next`` returned one.
        self.processing = False

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def next(self) -> AssignmentEvent | None:
        """Remove and return the first event."""
        self.processing = bool(self._waiting)
        return self._waiting.popleft() if self._waiting else None

    def releases(self, partition: Partition) -> bool:
        """Return whether a departure of the partition is waiting."""
        return any(partition in partitions for kind, partitions in self._waiting if kind == "released")

    def released(self, partitions: Iterable[Partition]) -> None:
        """Append a departure."""
        self._waiting.append(("released", tuple(partitions)))

    def assigned(self, *partitions: Partition) -> None:
        """Append an assignment, merged with a preceding one: a stage opens several partitions as fast as one."""
        before = self._waiting.pop()[1] if self._waiting and self._waiting[-1][0] == "assigned" else ()
        self._waiting.append(("assigned", (*before, *partitions)))
