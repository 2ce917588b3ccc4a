"""The transactions of a replay: references to ``retries``, with the position after them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from kafka.errors import KafkaError

from schemas import ReferenceEvent
from workers.clients import REFUSALS, fenced, refused, transactional_producer
from workers.errors import BrokerUnreachable, Fenced
from workers.replay.position import NAME, Position, group_of
from workers.settings import WorkerSettings
from workers.topics import partition_of
from workers.transactions import BoundedProducer


class ReplaySender:
    """Commits what is sent with the position after it. Use as a context manager: it fences any other of that name.

    The settings' slot is the replay's name. All methods raise BrokerRefused, Fenced, or BrokerUnreachable: then it is not known
    whether the last transaction came about, and a new producer must be opened before the position is read again.
    """

    def __init__(self, settings: WorkerSettings, partitions: int) -> None:
        self._settings, self._partitions = settings, partitions
        self._producer: BoundedProducer | None = None
        #: When the positions were made that may be the committed one.
        self._ours: set[int] = set()

    @property
    def ready(self) -> bool:
        """Whether it has a producer that did not fail."""
        return self._producer is not None

    def open(self) -> None:
        """A new producer, whose beginning ends what the one before left open."""
        self.close()
        made = BoundedProducer(transactional_producer(self._settings, NAME), self._settings.transaction_timeout_s)
        try:
            made.init_transactions()
        except KafkaError as error:
            raise self._named(error, []) from None
        self._producer = made

    def commit(self, events: Iterable[ReferenceEvent], position: Position) -> None:
        """All or nothing."""
        assert self._producer is not None
        sent: list[Any] = []
        self._ours.add(position.at)
        try:
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
        """Raises Fenced when the position that was found is none of this process: another one went on with it."""
        if found.at not in self._ours:
            raise self._fenced()

    def _named(self, error: KafkaError, sent: Iterable[Any]) -> BrokerUnreachable | Fenced | Exception:
        """What ends the command, or makes it try again. A fenced producer may tell only its records so."""
        if isinstance(error, REFUSALS):
            return refused(error, self._settings)
        if any(each is not None and fenced(each) for each in (error, *(future.exception for future in sent))):
            return self._fenced()
        return BrokerUnreachable(
            f"{self._settings.kafka_bootstrap_servers}: {type(error).__name__}: {error}: the same command goes on with it"
        )

    def _fenced(self) -> Fenced:
        return Fenced(f"another `reflink-worker replay --name {self._settings.slot}` goes on with it: this one ends")

    def close(self) -> None:
        """Lets go of the producer; an open transaction is left to the next one, or to the broker's timeout."""
        if self._producer is not None:
            with suppress(KafkaError):
                self._producer.close(timeout=2)
            self._producer = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
