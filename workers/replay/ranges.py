"""Records of a topic between offsets, outside any group, its partitions in turn."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from kafka import KafkaConsumer, TopicPartition

from workers.clients import asked, connect, received
from workers.errors import Stalled
from workers.settings import KafkaSettings
from workers.stage import Received

#: Without anything new for so long, the broker is taken to be stuck.
_PATIENCE_S: Final = 60.0
_CALL_MS: Final = 30_000
_POLL_MS: Final = 500
#: Records fetched and not given yet: above this, those are given first.
_MOST_HELD: Final = 20_000
_FETCH_BYTES: Final = 1_000_000


class Range:
    """Reads committed records of some partitions of ``topic`` (without prefix). Use as a context manager, or ``close``.

    ``positions``: of each partition the next offset that was not given yet; ``ends``: where it stops. None: from the oldest
    record that is left, and up to where the partition ends now. All methods raise BrokerRefused, BrokerUnreachable or Stalled.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        partitions: Sequence[int],
        *,
        positions: Mapping[int, int] | None = None,
        ends: Mapping[int, int] | None = None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._settings, self._topic, self._patience_s = settings, topic, patience_s
        self._places = [TopicPartition(settings.topic(topic), partition) for partition in partitions]
        self._consumer: Any = connect(
            settings,
            KafkaConsumer,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            allow_auto_create_topics=False,
            max_poll_records=2000,
            # Small, so that what is fetched at a time is of all partitions.
            max_partition_fetch_bytes=_FETCH_BYTES,
        )
        try:
            self._consumer.assign(self._places)
            first = self._asked(lambda: self._consumer.beginning_offsets(self._places, timeout_ms=_CALL_MS))
            #: The oldest offset that is left of each partition.
            self.oldest: dict[int, int] = {place.partition: int(first[place]) for place in self._places}
            if ends is None:
                last = self._asked(lambda: self._consumer.end_offsets(self._places, timeout_ms=_CALL_MS))
                ends = {place.partition: int(last[place]) for place in self._places}
            self.ends: dict[int, int] = dict(ends)
            self.positions: dict[int, int] = dict(positions or self.oldest)
            for place in self._places:
                self._consumer.seek(place, self.positions[place.partition])
        except BaseException:
            self._consumer.close()
            raise
        self._held: dict[int, deque[Received]] = {partition: deque() for partition in partitions}
        #: Where the consumer is, which is ahead of what was given.
        self._fetched = dict(self.positions)
        self._turn = 0
        self._moved = time.monotonic()

    @property
    def done(self) -> bool:
        """Whether all was given."""
        return all(self.positions[partition] >= end for partition, end in self.ends.items())

    def take(self, most: int) -> list[Received]:
        """At most so many records, one of each partition in turn; none where none came within half a second."""
        self._fill()
        taken: list[Received] = []
        names = list(self._held)
        empty = 0
        while len(taken) < most and empty < len(names):
            partition = names[self._turn % len(names)]
            self._turn += 1
            if not self._held[partition]:
                empty += 1
                continue
            empty = 0
            record = self._held[partition].popleft()
            self.positions[partition] = record.offset + 1
            taken.append(record)
        return taken

    def _fill(self) -> None:
        """Fetches while a partition is wanted of which nothing is held, and not too much is held of the others.

        What has reached its end is paused.
        """
        wanting = [place for place in self._places if self._wants(place.partition)]
        held = sum(map(len, self._held.values()))
        if not wanting or held > _MOST_HELD:
            return
        for place, records in self._asked(lambda: self._consumer.poll(timeout_ms=0 if held else _POLL_MS)).items():
            for each in records:
                if each.offset < self.ends[place.partition]:
                    self._held[place.partition].append(received(self._topic, each))
        for place in self._places:
            # Past transaction markers, and past what compaction took.
            position = int(self._asked(partial(self._consumer.position, place, timeout_ms=_CALL_MS)) or 0)
            if position > self._fetched[place.partition]:
                self._fetched[place.partition], self._moved = position, time.monotonic()
            if position >= self.ends[place.partition]:
                self._consumer.pause(place)
            if not self._held[place.partition]:
                self.positions[place.partition] = max(position, self.positions[place.partition])
        if held:
            self._moved = time.monotonic()
        elif time.monotonic() - self._moved > self._patience_s:
            raise Stalled(f"nothing came from {wanting[0]} for {self._patience_s:g} s: look at the broker, then run it again")

    def _wants(self, partition: int) -> bool:
        return not self._held[partition] and self.positions[partition] < self.ends[partition]

    def _asked(self, ask: Callable[[], Any]) -> Any:
        return asked(self._settings, ask, "run it again")

    def __iter__(self) -> Iterator[Received]:
        """All records up to the ends."""
        while not self.done:
            yield from self.take(1000)

    def close(self) -> None:
        """Closes the connection."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
