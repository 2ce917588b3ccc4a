"""Read the records of a topic between two offsets of each partition, without a group, round robin over the partitions."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Final, Self

from workers.config.settings import KafkaSettings
from workers.errors import Stalled
from workers.kafka.clients import received, uncommitted_ends
from workers.kafka.errors import broker_errors
from workers.kafka.partition_reader import PartitionReader
from workers.records import Received

#: After this many seconds without progress the reader raises Stalled.
_PATIENCE_S: Final = 60.0
_POLL_S: Final = 0.5
#: Above this number of fetched records that were not returned yet, nothing more is fetched.
_MAX_HELD: Final = 20_000
#: Small, so that one fetch contains records of all partitions.
_FETCH_BYTES: Final = 1_000_000
#: Larger than every offset.
_NO_END: Final = 2**62
_REPORT_EVERY: Final = 5000


class Range(PartitionReader):
    """Reads committed records of some partitions of ``topic`` (without prefix).

    ``positions``: the next offset to return, by partition (None: the oldest remaining record). ``ends``: the offset to stop at,
    by partition (None: the last stable offset). ``undecided``: no end is after the high watermark, which is the default end
    then; so the reader waits for the transactions that are open now. All methods raise BrokerRefused, BrokerUnreachable or
    Stalled.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        partitions: Sequence[int],
        *,
        positions: Mapping[int, int] | None = None,
        ends: Mapping[int, int] | None = None,
        undecided: bool = False,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        places = dict.fromkeys((topic, partition) for partition in partitions)
        super().__init__(settings, places, again="run it again", max_partition_fetch_bytes=_FETCH_BYTES)
        self._topic, self._patience_s = topic, patience_s
        try:
            #: The oldest remaining offset of each partition.
            self.oldest = {partition: first for (_, partition), first in self.beginning_offsets().items()}
            #: The offset to stop at, by partition.
            self.ends = dict(ends) if ends is not None and not undecided else self._latest(ends or {}, undecided)
            given = positions or self.oldest
            self.positions = {each: max(at, given[each]) for each, at in self.oldest.items()}
            self.assign({(topic, partition): at for partition, at in self.positions.items()})
        except BaseException:
            self.close()
            raise
        self._held: dict[int, deque[Received]] = {partition: deque() for partition in partitions}
        #: The next offset to buffer by partition.
        self._next = dict(self.positions)
        self._turn = 0
        #: Time of the last progress. The caller's time between two calls does not count as time without progress.
        self._moved = time.monotonic()
        self._returned = False

    def _latest(self, ends: Mapping[int, int], undecided: bool) -> dict[int, int]:
        if not undecided:
            return {partition: end for (_, partition), end in self.end_offsets().items()}
        with broker_errors(self._settings, self._again):
            found = uncommitted_ends(self._settings, self._places)
        return {place.partition: min(end, ends.get(place.partition, end)) for place, end in found.items()}

    @property
    def done(self) -> bool:
        """Whether all records were returned."""
        return all(self.positions[partition] >= end for partition, end in self.ends.items())

    @property
    def progress(self) -> tuple[int, int]:
        """The number of offsets passed since the oldest remaining records, and their number up to the ends."""
        first = sum(self.oldest.values())
        return sum(self.positions.values()) - first, sum(self.ends.values()) - first

    def extend(self, ends: Mapping[int, int]) -> None:
        """Continue to these ends. All records before the former ends must have been returned."""
        self.ends, self._moved = dict(ends), time.monotonic()
        for partition, (_, number) in self._places.items():
            if self.positions[number] < ends[number]:
                # The consumer may have fetched and dropped records after the former end.
                self._consumer.seek(partition, self.positions[number])
                self._consumer.resume(partition)

    def take(self, limit: int) -> list[Received]:
        """Return at most ``limit`` records, round robin over the partitions; none if none arrived within half a second."""
        self._fill()
        taken: list[Received] = []
        names = list(self._held)
        empty = 0
        while len(taken) < limit and empty < len(names):
            partition = names[self._turn % len(names)]
            self._turn += 1
            if not self._held[partition]:
                empty += 1
                continue
            empty = 0
            record = self._held[partition].popleft()
            self.positions[partition] = record.offset + 1
            taken.append(record)
        self._returned = bool(taken)
        return taken

    def _fill(self) -> None:
        """Fetch once if an unfinished partition has no buffered record and the buffer is not full.

        Pause the partitions that have reached their ends.
        """
        wanting = [place for place in self._places if self._wants(place.partition)]
        held = sum(map(len, self._held.values()))
        if not wanting or held > _MAX_HELD:
            return
        if self._returned:
            self._moved = time.monotonic()
        before = dict(self.next_offsets)
        for (_, partition), records in self.poll(0 if held else _POLL_S).items():
            for each in records:
                # kafka-python may go back by itself: see workers.runtime.flow.
                if self._next[partition] <= each.offset < self.ends[partition]:
                    self._next[partition] = each.offset + 1
                    self._held[partition].append(received(self._topic, each))
        for place in self._places:
            number, position = place.partition, self.next_offsets[self._places[place]]
            if position > before[self._places[place]]:
                self._moved = time.monotonic()
            if position >= self.ends[number]:
                self._consumer.pause(place)
            if not self._held[number]:
                self.positions[number] = max(min(position, self.ends[number]), self.positions[number])
        if held:
            self._moved = time.monotonic()
        elif time.monotonic() - self._moved > self._patience_s:
            raise Stalled(
                f"no record arrived from {wanting[0].topic}[{wanting[0].partition}] for {self._patience_s:g} s: check the "
                "broker, and look for a hanging transaction (docs/runbook.md, ReflinkTransactionHangs), then run it again"
            )

    def _wants(self, partition: int) -> bool:
        return not self._held[partition] and self.positions[partition] < self.ends[partition]

    def __iter__(self) -> Iterator[Received]:
        """Yield all records up to the ends."""
        while not self.done:
            yield from self.take(1000)

    @classmethod
    def following(cls, settings: KafkaSettings, topic: str, starts: Mapping[int, int]) -> Self:
        """Return a reader without end of the records from these offsets on, by partition."""
        ends = dict.fromkeys(starts, _NO_END)
        return cls(settings, topic, list(starts), positions=starts, ends=ends, patience_s=math.inf)

    def until(self, deadline: float) -> Iterator[Received]:
        """Yield records until ``time.monotonic()`` reaches the deadline."""
        while time.monotonic() < deadline:
            yield from self.take(1000)

    def newest(self, keys: Container[bytes], progress: Callable[[int, int], object] = lambda *_: None) -> dict[str, bytes]:
        """Read to the ends. Return the newest value of each of these keys, without keys that have none or a tombstone."""
        values: dict[str, bytes | None] = {}
        for count, record in enumerate(self):
            if record.key is not None and record.key in keys:
                values[record.key.decode()] = record.value
            if count % _REPORT_EVERY == 0:
                progress(*self.progress)
        progress(*self.progress)
        return {key: value for key, value in values.items() if value is not None}
