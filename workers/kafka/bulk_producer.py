"""Bulk sending for tools: the broker acknowledges every record, or the tool fails and names the failed record."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from reflink.errors import ReflinkError
from workers.config.settings import KafkaSettings
from workers.kafka.clients import plain_producer
from workers.records import Headers


class NotSent(ReflinkError):
    """The broker did not accept a record. Earlier records may have been written; sending all of them again is harmless."""


class Sender:
    """A producer that keeps the first failure. Use as a context manager; leaving it waits for all acknowledgements."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.settings = settings
        self._producer = plain_producer(settings)
        self._failure: tuple[str, BaseException] | None = None
        self.sent = 0

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> None:
        """Queue a record for ``topic`` (without prefix). Raises NotSent for an earlier record."""
        self._check()
        name = (key or b"").decode("utf-8", "replace")
        future = self._producer.send(
            self.settings.topic(topic), value=value, key=key, headers=list(headers), partition=partition, timestamp_ms=timestamp
        )
        future.add_errback(lambda error: self._fail(f"{topic} {name}", error))
        self.sent += 1

    def flush(self) -> None:
        """Wait until the broker has acknowledged all records. Raises NotSent."""
        self._producer.flush()
        self._check()

    def _fail(self, what: str, error: BaseException) -> None:
        self._failure = self._failure or (what, error)

    def _check(self) -> None:
        if self._failure:
            what, error = self._failure
            raise NotSent(f"{what}: {type(error).__name__}: {error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self._producer.close(timeout=10)
