"""Clients: failed construction leaves no threads, fencing errors are recognised, and consumers do not stall."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError
from kafka.structs import MemberState

from tests.kafka import worker_settings
from tests.workers.echo import until
from workers.config.settings import KafkaSettings
from workers.devkit.ports import free_port
from workers.errors import BrokerUnreachable
from workers.kafka import clients
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import connect, group_consumer, plain_consumer, transactional_producer
from workers.kafka.errors import fenced
from workers.kafka.selector import Selector


@pytest.mark.parametrize("client", [KafkaConsumer, KafkaProducer, KafkaAdminClient])
def test_a_client_whose_broker_disconnects_during_construction_leaves_no_thread(client: type, monkeypatch: pytest.MonkeyPatch):
    before = threading.enumerate()
    monkeypatch.setattr(clients, "await_broker", lambda *_: None)  # the broker answered a moment ago
    monkeypatch.setattr(clients, "_LEAST_BOOTSTRAP_S", 0.5)
    gone = KafkaSettings(kafka_bootstrap_servers=f"127.0.0.1:{free_port()}", kafka_connect_timeout_s=0.5)
    with pytest.raises(BrokerUnreachable, match="no broker responds at"):
        connect(gone, client)
    assert [thread for thread in threading.enumerate() if thread not in before] == []


def test_a_client_that_fails_after_connecting_leaves_no_thread(kafka: KafkaSettings):
    class Failing(KafkaConsumer):  # type: ignore[misc]
        def __init__(self, **config: Any) -> None:
            super().__init__(**config)
            raise ValueError("unknown option")

    before = threading.enumerate()
    with pytest.raises(ValueError, match="unknown option"):
        connect(kafka, Failing)
    assert [thread for thread in threading.enumerate() if thread not in before] == []


@pytest.mark.parametrize("first", ["commit", "abort", "offsets"])
def test_each_call_of_a_fenced_producer_raises_a_fencing_error(kafka: KafkaSettings, state: Any, first: str):
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


def test_a_partition_paused_with_fetched_records_continues_when_resumed(kafka: KafkaSettings):
    """A worker pauses retries whenever references arrive, and then reads all records of references."""
    places = [TopicPartition(kafka.topic(name), 0) for name in ("retries", "references")]
    with Sender(kafka) as sender:
        for name, number in (("retries", 300), ("references", 20)):
            for each in range(number):
                sender.send(name, b"key", b"%d" % each, partition=0)
    with closing(plain_consumer(kafka)) as consumer:
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


def test_a_group_leader_completes_a_new_join_with_short_polls(kafka: KafkaSettings, state: Any):
    settings = worker_settings(kafka, state, session_timeout_s=60.0)
    with closing(group_consumer(settings, "echo")) as consumer:
        consumer.subscribe([kafka.topic("references")])
        until(lambda: consumer.poll(timeout_ms=500) or len(consumer.assignment()) == 3)
        before = consumer.group_metadata().generation_id
        consumer._coordinator._assignment_snapshot = {}  # as if it had been made without the topic
        assert not consumer.poll(timeout_ms=1)
        until(lambda: consumer.poll(timeout_ms=1) or consumer.group_metadata().state == MemberState.STABLE)
        assert consumer.group_metadata().generation_id > before
        assert len(consumer.assignment()) == 3


def test_a_client_has_the_selector_that_does_not_describe_sockets(kafka: KafkaSettings) -> None:
    with closing(plain_consumer(kafka)) as consumer:
        assert consumer.config["selector"] is Selector
