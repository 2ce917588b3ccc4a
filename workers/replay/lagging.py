"""How much of a topic a group has not read yet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Self

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from workers.clients import REFUSALS, connect, plain_consumer, refused
from workers.errors import BrokerUnreachable
from workers.settings import KafkaSettings

_CALL_MS: Final = 30_000


class Unread:
    """Counts the records of ``topic`` that ``group`` (both without prefix) has not committed. Use as a context manager.

    Transaction markers count too. Raises BrokerRefused or BrokerUnreachable.
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
        """How many there are now."""
        committed = self._asked(lambda: self._admin.list_group_offsets({self._group: self._places})[self._group])
        oldest = self._asked(lambda: self._consumer.beginning_offsets(self._places, timeout_ms=_CALL_MS))
        ends = self._asked(lambda: self._consumer.end_offsets(self._places, timeout_ms=_CALL_MS))
        total = 0
        for place in self._places:
            found = committed.get(place)
            # Where nothing is committed yet (-1), the group begins with the oldest.
            total += max(0, ends[place] - max(oldest[place], found.offset if found is not None else -1))
        return total

    def _asked(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except REFUSALS as error:
            raise refused(error, self._settings) from None
        except KafkaError as error:
            raise BrokerUnreachable(
                f"{self._settings.kafka_bootstrap_servers}: {type(error).__name__}: {error}: run it again when it answers"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._opened.close()
