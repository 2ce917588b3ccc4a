"""Clients that cannot be made leave nothing behind, and a fenced producer is recognised by whatever it says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.kafka import worker_settings
from workers import clients
from workers.clients import connect, fenced, plain_consumer, transactional_producer
from workers.errors import BrokerUnreachable
from workers.local.ports import free_port
from workers.sending import Sender
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


def test_a_partition_that_was_paused_with_records_in_hand_goes_on_when_it_is_resumed(kafka: KafkaSettings):
    """Retries are paused whenever references come; those of references are then read to the last one."""
    places = [TopicPartition(kafka.topic(name), 0) for name in ("retries", "references")]
    with Sender(kafka) as sender:
        for name, number in (("retries", 300), ("references", 20)):
            for each in range(number):
                sender.send(name, b"key", b"%d" % each, partition=0)
    consumer = plain_consumer(kafka)
    try:
        consumer.assign(places)
        consumer.pause(places[1])
        counts = dict.fromkeys(places, 0)

        def read(place: TopicPartition, number: int) -> None:
            until = time.monotonic() + 30
            while counts[place] < number and time.monotonic() < until:
                for found, records in consumer.poll(timeout_ms=200, max_records=100).items():
                    counts[found] += len(records)

        read(places[0], 100)
        consumer.pause(places[0])
        consumer.resume(places[1])
        read(places[1], 20)
        consumer.resume(places[0])
        read(places[0], 300)
        assert counts == {places[0]: 300, places[1]: 20}
    finally:
        consumer.close()
