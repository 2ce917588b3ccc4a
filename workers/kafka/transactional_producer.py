"""Transactional producer with deadlines: kafka-python's calls have no timeout, and some never return after a broker crash."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError


class BoundedProducer:
    """A transactional producer whose calls raise KafkaTimeoutError after ``deadline_s`` seconds.

    After a timeout its state is unknown and it must be replaced: a new producer with the same transactional id makes the broker
    finish or abort the transaction of this one. A call that never returns leaves its daemon thread running.
    """

    def __init__(self, producer: KafkaProducer, deadline_s: float) -> None:
        self.producer, self.deadline_s = producer, deadline_s
        #: Sends a record within the transaction. Waits only for metadata and buffer memory; the producer bounds both waits.
        self.send = producer.send
        self.begin_transaction = producer.begin_transaction

    def init_transactions(self) -> None:
        """Take over the transactional id. The producer itself bounds this call.

        Closes the producer on failure: otherwise its thread would retry for ever and fence the producer that replaces it.
        """
        try:
            self.producer.init_transactions()
        except BaseException:
            self.close(1)
            raise

    def send_offsets_to_transaction(self, offsets: Any, group_metadata: Any) -> None:
        """Add the consumer's offsets to the transaction."""
        self._bounded("send_offsets_to_transaction", lambda: self.producer.send_offsets_to_transaction(offsets, group_metadata))

    def commit_transaction(self) -> None:
        """Commit the transaction. After a timeout it is unknown whether the transaction was committed."""
        self._bounded("commit_transaction", self.producer.commit_transaction)

    def abort_transaction(self) -> None:
        """Abort the transaction."""
        self._bounded("abort_transaction", self.producer.abort_transaction)

    def close(self, timeout: float) -> None:
        """Close the producer, or abandon it if closing takes longer than ``timeout`` + 5 seconds."""
        with suppress(KafkaTimeoutError):
            self._bounded("close", lambda: self.producer.close(timeout=timeout), timeout + 5)

    def _bounded(self, name: str, call: Callable[[], None], deadline_s: float | None = None) -> None:
        ended, failure = threading.Event(), list[BaseException]()

        def run() -> None:
            try:
                call()
            except BaseException as error:
                failure.append(error)
            finally:
                ended.set()

        seconds = deadline_s or self.deadline_s
        threading.Thread(target=run, name=name, daemon=True).start()
        if not ended.wait(seconds):
            raise KafkaTimeoutError(f"{name} did not return within {seconds:g} s")
        if failure:
            raise failure[0]
