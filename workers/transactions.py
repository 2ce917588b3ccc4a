"""Transactions with a deadline: kafka-python's calls wait without limit, and after a broker's crash some wait for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError


class BoundedProducer:
    """A transactional producer whose calls raise KafkaTimeoutError at the deadline.

    After that it is in an unknown state and must be replaced: a new one with the same transactional id makes the broker finish
    or abort what this one left. The thread of a call that never returns is left behind; the process outlives it.
    """

    def __init__(self, producer: KafkaProducer, deadline_s: float) -> None:
        self.producer, self.deadline_s = producer, deadline_s
        #: Sends a record within the transaction; waits only for metadata and memory, each bounded by the producer.
        self.send = producer.send
        self.begin_transaction = producer.begin_transaction

    def init_transactions(self) -> None:
        """Takes over the transactional id; bounded by the producer itself, which is closed when that fails.

        Else its thread would try on for ever, and fence the producer that takes its place.
        """
        try:
            self.producer.init_transactions()
        except BaseException:
            self.close(1)
            raise

    def send_offsets_to_transaction(self, offsets: Any, group_metadata: Any) -> None:
        """Makes the consumer's offsets part of the transaction."""
        self._bounded("send_offsets_to_transaction", lambda: self.producer.send_offsets_to_transaction(offsets, group_metadata))

    def commit_transaction(self) -> None:
        """At the deadline it is not known whether the transaction was committed."""
        self._bounded("commit_transaction", self.producer.commit_transaction)

    def abort_transaction(self) -> None:
        """Gives the transaction up."""
        self._bounded("abort_transaction", self.producer.abort_transaction)

    def close(self, timeout: float) -> None:
        """Closes the producer, or leaves it behind when that takes longer than about so many seconds."""
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
