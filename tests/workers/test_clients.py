"""Clients that cannot be made leave nothing behind, and a fenced producer is recognised by whatever it says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.kafka import worker_settings
from workers import clients
from workers.clients import connect, fenced, transactional_producer
from workers.errors import BrokerUnreachable
from workers.local.ports import free_port
from workers.settings import KafkaSettings


@pytest.mark.parametrize("client", [KafkaConsumer, KafkaProducer, KafkaAdminClient])
def test_a_client_whose_broker_goes_while_it_is_made_leaves_no_thread(client: type, monkeypatch: pytest.MonkeyPatch):
    before = threading.enumerate()
    monkeypatch.setattr(clients, "await_broker", lambda *_: None)  # it was there a moment ago
    monkeypatch.setattr(clients, "_LEAST_BOOTSTRAP_S", 0.5)
    gone = KafkaSettings(kafka_bootstrap_servers=f"127.0.0.1:{free_port()}", kafka_connect_timeout_s=0.5)
    with pytest.raises(BrokerUnreachable, match="no broker answers at"):
        connect(gone, client)
    assert [thread for thread in threading.enumerate() if thread not in before] == []


def test_a_client_that_fails_once_it_is_connected_leaves_no_thread(kafka: KafkaSettings):
    class Failing(KafkaConsumer):  # type: ignore[misc]
        def __init__(self, **config: Any) -> None:
            super().__init__(**config)
            raise ValueError("an option that is none")

    before = threading.enumerate()
    with pytest.raises(ValueError, match="an option that is none"):
        connect(kafka, Failing)
    assert [thread for thread in threading.enumerate() if thread not in before] == []


@pytest.mark.parametrize("first", ["commit", "abort", "offsets"])
def test_every_call_of_a_fenced_producer_says_so(kafka: KafkaSettings, state: Any, first: str):
    settings = worker_settings(kafka, state)
    topic, place = kafka.topic("outcomes"), TopicPartition(kafka.topic("references"), 0)
    older, newer = (transactional_producer(settings, "echo") for _ in range(2))
    calls: dict[str, Callable[[], object]] = {
        "offsets": lambda: older.send_offsets_to_transaction({place: OffsetAndMetadata(1, "", -1)}, "group"),
        "commit": older.commit_transaction,
        "abort": older.abort_transaction,
        "begin": older.begin_transaction,
        "send": lambda: older.send(topic, b"2", partition=0),
    }
    try:
        older.init_transactions()
        older.begin_transaction()
        older.send(topic, b"1", partition=0).get(timeout=20)
        newer.init_transactions()
        for name in (first, *calls):
            with pytest.raises(KafkaError) as caught:
                calls[name]()
            assert fenced(caught.value), name
    finally:
        older.close(timeout=1)
        newer.close(timeout=1)
    assert not fenced(KafkaTimeoutError("no answer"))
