"""Read committed records of partitions outside a consumer group. Every reader that is not a worker's group member uses this."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Self

from kafka import TopicPartition
from kafka.errors import KafkaError

from workers.config.settings import KafkaSettings
from workers.kafka.clients import plain_consumer
from workers.kafka.errors import broker_errors
from workers.records import Partition

#: Maximum time of a request for offsets, and of looking up a position that the consumer does not have.
_CALL_S: Final = 30.0
_POSITION_MS: Final = 1000


class PartitionReader:
    """Reads partitions, each in order. Use as a context manager, or call ``close``. Not thread-safe.

    ``starts``: the first offset to read, by partition (None: the oldest remaining record). ``again``: see ``broker_errors``,
    which determines the errors that all methods raise. ``config``: options of kafka-python's consumer.
    """

    def __init__(
        self, settings: KafkaSettings, starts: Mapping[Partition, int | None], *, again: str | None = None, **config: Any
    ) -> None:
        self._settings, self._again = settings, again
        self._consumer: Any = plain_consumer(settings, **config)
        try:
            self.assign(starts)
        except BaseException:
            self.close()
            raise

    def assign(self, starts: Mapping[Partition, int | None]) -> None:
        """Read these partitions from these offsets on, and no others."""
        self._places = {TopicPartition(self._settings.topic(place[0]), place[1]): place for place in starts}
        #: By partition, the offset after the last record or transaction marker read, -1 before the first.
        self.next_offsets: dict[Partition, int] = {place: -1 if start is None else start for place, start in starts.items()}
        with broker_errors(self._settings, self._again):
            self._consumer.assign(list(self._places))
            for partition, place in self._places.items():
                if (start := starts[place]) is None:
                    self._consumer.seek_to_beginning(partition)
                else:
                    self._consumer.seek(partition, start)

    def poll(self, timeout_s: float) -> dict[Partition, list[Any]]:
        """Return fetched records (kafka-python's) by partition; wait at most ``timeout_s`` seconds for the first."""
        with broker_errors(self._settings, self._again):
            polled = self._consumer.poll(timeout_ms=int(timeout_s * 1000))
        for partition, place in self._places.items():
            records = polled.get(partition)
            after = records[-1].offset + 1 if records else self.next_offsets[place]
            with suppress(KafkaError):  # the leader may be moving
                # The consumer's position also passes transaction markers and records removed by compaction.
                after = max(after, int(self._consumer.position(partition, timeout_ms=_POSITION_MS) or 0))
            self.next_offsets[place] = after
        return {self._places[partition]: records for partition, records in polled.items() if records}

    def end_offsets(self, timeout_s: float = _CALL_S) -> dict[Partition, int]:
        """Return the ends of all partitions: the last stable offset of each."""
        with broker_errors(self._settings, self._again):
            ends = self._consumer.end_offsets(list(self._places), timeout_ms=int(timeout_s * 1000))
        return {place: int(ends[partition]) for partition, place in self._places.items()}

    def beginning_offsets(self) -> dict[Partition, int]:
        """Return the oldest remaining offset of each partition."""
        with broker_errors(self._settings, self._again):
            first = self._consumer.beginning_offsets(list(self._places), timeout_ms=int(_CALL_S * 1000))
        return {place: int(first[partition]) for partition, place in self._places.items()}

    def high_watermark(self, place: Partition) -> int | None:
        """Return the high watermark in the last fetch response of a partition, without a request; None before the first."""
        found = self._consumer.highwater(TopicPartition(self._settings.topic(place[0]), place[1]))
        return None if found is None else int(found)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
