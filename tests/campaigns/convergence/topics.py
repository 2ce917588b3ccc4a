"""Kafka topics in memory: committed records, the positions of groups, and compaction."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final

from workers.kafka.topics import TOPICS, partition_of
from workers.records import Message, Partition, Received

#: Two partitions, so that a ledger can lose one and keep the other.
PARTITIONS: Final = 2
#: Topics with a single partition, whose offset serves as a version.
_SINGLE: Final = ("catalog",)


class Topics:
    """All topics, without prefix. A commit is atomic, like a transaction."""

    def __init__(self) -> None:
        self._logs: dict[Partition, list[Received]] = {
            (topic, partition): [] for topic in TOPICS for partition in range(1 if topic in _SINGLE else PARTITIONS)
        }
        self._ends: dict[Partition, int] = dict.fromkeys(self._logs, 0)
        self._positions: dict[tuple[str, Partition], int] = {}
        #: Key and value of every record ever written, including compacted records.
        self.written: dict[str, list[tuple[bytes | None, bytes | None]]] = {topic: [] for topic in TOPICS}

    def commit(
        self, messages: Iterable[Message], now: int, group: str = "", positions: Mapping[Partition, int] | None = None
    ) -> dict[Partition, int]:
        """Append the messages and set the group's positions. Return the last offset written to each partition.

        ``now`` is in milliseconds since 1970.
        """
        offsets: dict[Partition, int] = {}
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

    def place(self, message: Message) -> Partition:
        """Return the topic and partition of a message."""
        key = message.partition_key or message.key or b""
        partition = partition_of(key, PARTITIONS) if message.partition is None else message.partition
        return message.topic, 0 if message.topic in _SINGLE else partition

    def read(self, place: Partition, start: int, limit: int | None = None) -> list[Received]:
        """Return the records from an offset on, at most ``limit``."""
        log = self._logs[place]
        first = bisect_left(log, start, key=lambda record: record.offset)
        return log[first:] if limit is None else log[first : first + limit]

    def waiting(self, group: str, place: Partition, limit: int | None = None) -> list[Received]:
        """Return the records that the group has not committed yet, at most ``limit``."""
        return self.read(place, self.position(group, place), limit)

    def position(self, group: str, place: Partition) -> int:
        """Return the group's committed offset."""
        return self._positions.get((group, place), 0)

    def end(self, place: Partition) -> int:
        """Return the next offset of a partition."""
        return self._ends[place]

    def places(self, topic: str) -> list[Partition]:
        """Return the partitions of a topic."""
        return [place for place in self._logs if place[0] == topic]

    def newest(self, topic: str) -> dict[str, Received]:
        """Return the last record of each key, except keys whose last record is a tombstone."""
        found: dict[str, Received] = {}
        for place in self.places(topic):
            for record in self._logs[place]:
                key = (record.key or b"").decode()
                found.pop(key, None)
                if record.value is not None:
                    found[key] = record
        return found

    def compact(self, place: Partition, seen: int) -> int:
        """Remove records with a newer record of the same key, and tombstones below ``seen``, which all readers have passed.

        Returns the number of removed records.
        """
        log, last = self._logs[place], {}
        for record in log:
            last[record.key] = record.offset
        kept = [each for each in log if each.offset == last[each.key] and (each.value is not None or each.offset >= seen)]
        self._logs[place] = kept
        return len(log) - len(kept)
