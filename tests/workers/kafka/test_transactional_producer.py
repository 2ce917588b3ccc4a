"""Calls of a producer have a deadline, and their errors are raised unchanged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError, ProducerFencedError, TransactionalIdAuthorizationFailedError

from workers.kafka.transactional_producer import BoundedProducer

CALLS: list[Callable[[BoundedProducer], None]] = [
    lambda producer: producer.send_offsets_to_transaction({}, None),
    BoundedProducer.commit_transaction,
    BoundedProducer.abort_transaction,
]
NAMES = ("send_offsets_to_transaction", "commit_transaction", "abort_transaction")


def bounded(behaviour: Callable[..., Any], deadline_s: float = 0.2) -> BoundedProducer:
    others = ("send", "init_transactions", "begin_transaction", "close")
    return BoundedProducer(SimpleNamespace(**dict.fromkeys((*NAMES, *others), behaviour)), deadline_s)


@pytest.mark.parametrize(("call", "name"), zip(CALLS, NAMES, strict=True))
def test_a_call_that_does_not_return_times_out(call: Callable[[BoundedProducer], None], name: str):
    never = threading.Event()
    try:
        with pytest.raises(KafkaTimeoutError, match=name):
            call(bounded(lambda *_, **__: never.wait()))
    finally:
        never.set()


def test_a_producer_refused_its_transactional_id_is_closed():
    """Its thread would otherwise retry and fence the producer that replaces it."""
    closed: list[float] = []

    def refused() -> None:
        raise TransactionalIdAuthorizationFailedError("echo-a")

    producer = bounded(lambda: None, 5.0)
    vars(producer.producer).update(init_transactions=refused, close=lambda timeout: closed.append(timeout))
    with pytest.raises(TransactionalIdAuthorizationFailedError):
        producer.init_transactions()
    assert closed == [1]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_within_the_deadline_completes_or_raises_its_error(call: Callable[[BoundedProducer], None]):
    def fenced(*_: object, **__: object) -> None:
        raise ProducerFencedError("another")

    done: list[bool] = []

    def slow(*_: object, **__: object) -> None:
        time.sleep(0.05)
        done.append(True)

    with pytest.raises(ProducerFencedError, match="another"):
        call(bounded(fenced, 30.0))
    call(bounded(slow, 30.0))
    assert done == [True]
