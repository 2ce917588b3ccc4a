"""The number of records of a topic that a group has not read yet."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final, Self

from kafka import KafkaAdminClient, TopicPartition

from workers.config.settings import KafkaSettings
from workers.kafka.clients import connect, plain_consumer
from workers.kafka.errors import broker_errors

_CALL_MS: Final = 30_000


class Unread:
    """Counts the offsets of ``topic`` that ``group`` (both without prefix) has not committed. Use as a context manager.

    Transaction markers are included. Raises BrokerRefused or BrokerUnreachable.
    """

    def __init__(self, settings: KafkaSettings, group: str, topic: str, partitions: int) -> None:
        self._settings, self._group = settings, settings.topic(group)
        self._places = [TopicPartition(settings.topic(topic), partition) for partition in range(partitions)]
        with ExitStack() as opened:
            self._consumer: Any = plain_consumer(settings)
            opened.callback(self._consumer.close)
            self._admin: Any = connect(settings, KafkaAdminClient)
            opened.callback(self._admin.close)
            self._opened = opened.pop_all()

    def __call__(self) -> int:
        """Return the current number."""
        with broker_errors(self._settings, "run it again"):
            committed = self._admin.list_group_offsets({self._group: self._places})[self._group]
            oldest = self._consumer.beginning_offsets(self._places, timeout_ms=_CALL_MS)
            ends = self._consumer.end_offsets(self._places, timeout_ms=_CALL_MS)
        total = 0
        for place in self._places:
            found = committed.get(place)
            # Without a committed offset (-1) the group starts at the oldest record.
            total += max(0, ends[place] - max(oldest[place], found.offset if found is not None else -1))
        return total

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()
