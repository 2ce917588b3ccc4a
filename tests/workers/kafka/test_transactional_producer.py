"""Calls of a producer that do not return are given up, and the errors of calls are raised unchanged."""

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
def test_a_call_that_does_not_return_is_given_up(call: Callable[[BoundedProducer], None], name: str):
    never = threading.Event()
    try:
        with pytest.raises(KafkaTimeoutError, match=name):
            call(bounded(lambda *_, **__: never.wait()))
    finally:
        never.set()


def test_a_producer_that_does_not_get_its_id_is_closed_since_it_would_try_on_and_fence_its_successor():
    closed: list[float] = []

    def refused() -> None:
        raise TransactionalIdAuthorizationFailedError("echo-a")

    others = SimpleNamespace(
        **dict.fromkeys((*NAMES, "send", "begin_transaction"), lambda: None),
        init_transactions=refused,
        close=lambda timeout: closed.append(timeout),
    )
    with pytest.raises(TransactionalIdAuthorizationFailedError):
        BoundedProducer(others, 5.0).init_transactions()
    assert closed == [1]


@pytest.mark.parametrize("call", CALLS)
def test_what_a_call_raises_comes_through(call: Callable[[BoundedProducer], None]):
    def fenced(*_: object, **__: object) -> None:
        raise ProducerFencedError("another")

    with pytest.raises(ProducerFencedError, match="another"):
        call(bounded(fenced, 30.0))


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_returns_in_time_is_waited_for(call: Callable[[BoundedProducer], None]):
    done: list[bool] = []

    def slow(*_: object, **__: object) -> None:
        time.sleep(0.05)
        done.append(True)

    call(bounded(slow, 30.0))
    assert done == [True]
