"""Kafka's topics as lists: what was committed, where each group stands, and what compaction leaves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final

from workers.stage import Message, Place, Received
from workers.topics import TOPICS, partition_of

#: Enough for a ledger to lose one and keep one.
PARTITIONS: Final = 2
#: Of the single partition of these, the offset is a version.
_SINGLE: Final = ("catalog",)


class Topics:
    """All topics, without prefix. A commit is all or nothing, as a transaction is: nobody sees the half of one."""

    def __init__(self) -> None:
        self._logs: dict[Place, list[Received]] = {
            (topic, partition): [] for topic in TOPICS for partition in range(1 if topic in _SINGLE else PARTITIONS)
        }
        self._ends: dict[Place, int] = dict.fromkeys(self._logs, 0)
        self._positions: dict[tuple[str, Place], int] = {}
        #: Keys and values of all that was ever written, compacted or not.
        self.written: dict[str, list[tuple[bytes | None, bytes | None]]] = {topic: [] for topic in TOPICS}

    def commit(
        self, messages: Iterable[Message], now: int, group: str = "", positions: Mapping[Place, int] | None = None
    ) -> dict[Place, int]:
        """Appends and moves the group on. Returns the last offset written to each partition; ``now`` in milliseconds."""
        offsets: dict[Place, int] = {}
        for message in messages:
            place = self.place(message)
            offset = offsets[place] = self._ends[place]
            self._ends[place] += 1
            self.written[message.topic].append((message.key, message.value))
            at = now if message.timestamp is None else message.timestamp
            self._logs[place].append(Received(*place, offset, message.key, message.value, message.headers, at))
        for place, position in (positions or {}).items():
            self._positions[group, place] = position
        # A transaction's marker takes an offset in every partition it wrote to.
        for place in offsets:
            self._ends[place] += 1
        return offsets

    def place(self, message: Message) -> Place:
        """Where a message goes."""
        key = message.partition_key or message.key or b""
        return message.topic, 0 if message.topic in _SINGLE else partition_of(key, PARTITIONS)

    def read(self, place: Place, start: int, most: int | None = None) -> list[Received]:
        """What is there from an offset on."""
        log = self._logs[place]
        first = bisect_left(log, start, key=lambda record: record.offset)
        return log[first:] if most is None else log[first : first + most]

    def waiting(self, group: str, place: Place, most: int | None = None) -> list[Received]:
        """What the group has not taken yet."""
        return self.read(place, self.position(group, place), most)

    def position(self, group: str, place: Place) -> int:
        """Where the group stands."""
        return self._positions.get((group, place), 0)

    def end(self, place: Place) -> int:
        """The next offset of a partition."""
        return self._ends[place]

    def places(self, topic: str) -> list[Place]:
        """A topic's partitions."""
        return [place for place in self._logs if place[0] == topic]

    def newest(self, topic: str) -> dict[str, Received]:
        """The last record of each key that is no tombstone."""
        found: dict[str, Received] = {}
        for place in self.places(topic):
            for record in self._logs[place]:
                key = (record.key or b"").decode()
                found.pop(key, None)
                if record.value is not None:
                    found[key] = record
        return found

    def compact(self, place: Place, seen: int) -> int:
        """Drops what a newer record of its key replaces, and tombstones below ``seen``, which all readers have passed."""
        log, last = self._logs[place], {}
        for record in log:
            last[record.key] = record.offset
        kept = [each for each in log if each.offset == last[each.key] and (each.value is not None or each.offset >= seen)]
        self._logs[place] = kept
        return len(log) - len(kept)
