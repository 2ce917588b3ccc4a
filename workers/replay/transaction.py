"""The transactions of a replay: each holds references for ``retries`` and the position after them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Self

from kafka.errors import KafkaError

from schemas import ReferenceEvent
from workers.config.settings import WorkerSettings
from workers.errors import BrokerUnreachable, Fenced
from workers.kafka.clients import transactional_producer
from workers.kafka.errors import broker_errors, fenced
from workers.kafka.topics import partition_of
from workers.kafka.transactional_producer import BoundedProducer
from workers.replay.checkpoint import NAME, Position, group_of


class ReplaySender:
    """Commits references together with the position after them. Use as a context manager: it fences other senders of the name.

    The settings' slot is the replay's name. All methods raise BrokerRefused, Fenced or BrokerUnreachable. After
    BrokerUnreachable it is unknown whether the last transaction was committed: the caller must ``open`` a new producer before
    it reads the position again.
    """

    def __init__(self, settings: WorkerSettings, partitions: int) -> None:
        self._settings, self._partitions = settings, partitions
        self._producer: BoundedProducer | None = None
        #: ``Position.at`` of each position of this process that may be the committed one.
        self._ours: set[int] = set()

    @property
    def ready(self) -> bool:
        """Whether the sender has a producer."""
        return self._producer is not None

    def open(self) -> None:
        """Open a new producer. Its initialisation ends a transaction that the previous producer left open."""
        self.close()
        made = BoundedProducer(transactional_producer(self._settings, NAME), self._settings.transaction_timeout_s)
        try:
            with broker_errors(self._settings):
                made.init_transactions()
        except KafkaError as error:
            raise self._named(error, []) from None
        self._producer = made

    def commit(self, events: Iterable[ReferenceEvent], position: Position) -> None:
        """Send the events and the position in one transaction."""
        assert self._producer is not None
        sent: list[Any] = []
        self._ours.add(position.at)
        try:
            with broker_errors(self._settings):
                self._producer.begin_transaction()
                for event in events:
                    key = event.citing.encode()
                    partition = partition_of(key, self._partitions)
                    topic = self._settings.topic("retries")
                    sent.append(
                        self._producer.send(
                            topic, value=event.to_json(), key=key, headers=list(event.headers()), partition=partition
                        )
                    )
                group = group_of(self._settings, self._settings.slot)
                self._producer.send_offsets_to_transaction(position.as_metadata(self._settings.topic("links")), group)
                self._producer.commit_transaction()
        except KafkaError as error:
            raise self._named(error, sent) from None
        self._ours = {position.at}

    def check(self, found: Position) -> None:
        """Raise Fenced if the position found is not from this process: another process has continued the replay."""
        if found.at not in self._ours:
            raise self._fenced()

    def _named(self, error: KafkaError, sent: Iterable[Any]) -> BrokerUnreachable | Fenced:
        """Return the error to raise for an error of Kafka.

        A fenced producer may report this only in the futures of its records, so these are checked too.
        """
        if any(each is not None and fenced(each) for each in (error, *(future.exception for future in sent))):
            return self._fenced()
        return BrokerUnreachable(
            f"{self._settings.kafka_bootstrap_servers}: {type(error).__name__}: {error}: the same command continues the replay"
        )

    def _fenced(self) -> Fenced:
        return Fenced(f"another `reflink-worker replay --name {self._settings.slot}` continues the replay: this one ends")

    def close(self) -> None:
        """Close the producer. The next producer, or the broker's timeout, aborts an open transaction."""
        if self._producer is not None:
            with suppress(KafkaError):
                self._producer.close(timeout=2)
            self._producer = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
