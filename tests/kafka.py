"""Helpers for tests that run against a real broker: topics, settings, sending, reading and lag."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError

from workers.config.settings import KafkaSettings, WorkerSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import plain_consumer
from workers.kafka.topics import TopicAdmin
from workers.records import Received

_CALL_MS: Final = 20_000
_PATIENCE_S: Final = 60.0


def new_prefix() -> str:
    """Return a unique prefix, so that the topics, groups and transactional ids of two tests never overlap."""
    return f"t{uuid.uuid4().hex[:8]}."


def create_topics(address: str, prefix: str, partitions: int = 3) -> KafkaSettings:
    """Create all topics under the prefix, with the broker's default replication; return the settings to reach them."""
    settings = KafkaSettings(kafka_bootstrap_servers=address, topic_prefix=prefix)
    with TopicAdmin(settings) as admin:
        admin.create(partitions, -1)
    return settings


def await_markers(address: str) -> None:
    """Wait until no transaction on the cluster is decided but still without its markers.

    Wait for this before killing a broker without replicas. After such a kill Kafka 4.3.0 starts the transaction coordinator
    with the old leaders. When the broker's old registration expires, no partition has a leader for a moment. The coordinator
    takes these partitions for deleted, writes no marker to them, and completes the transaction
    (TransactionMarkerChannelManager). Committed records then stay behind a hanging transaction.
    """
    deadline = time.monotonic() + _PATIENCE_S
    with TopicAdmin(KafkaSettings(kafka_bootstrap_servers=address)) as admin:
        while any((found := admin.admin.list_transactions(state_filters=["PrepareCommit", "PrepareAbort"])).values()):
            assert time.monotonic() < deadline, f"without markers: {found}"
            time.sleep(0.01)


def worker_settings(kafka: KafkaSettings, folder: Path, model: type[WorkerSettings] = WorkerSettings, **more: Any) -> Any:
    """Return settings with short timeouts, so that faults show within seconds."""
    quick = {
        "kafka_bootstrap_servers": kafka.kafka_bootstrap_servers, "topic_prefix": kafka.topic_prefix, "state_dir": folder,
        "slot": "a", "session_timeout_s": 6.0, "revocation_deadline_s": 2.0, "idle_commit_s": 0.2, "lag_interval_s": 0.3,
    }  # fmt: skip
    return model(**{**quick, **more})


def send(kafka: KafkaSettings, topic: str, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
    """Send (key, value) records and wait until all are acknowledged."""
    with Sender(kafka) as sender:
        for key, value in records:
            sender.send(topic, key, value)


def read_all(kafka: KafkaSettings, topic: str) -> list[Received]:
    """Return all committed records of a topic, ordered by partition and offset."""
    return list(iterate(kafka, topic))


def iterate(kafka: KafkaSettings, topic: str) -> Iterator[Received]:
    """Yield all committed records of a topic, ordered by partition and offset."""
    consumer = plain_consumer(kafka)
    try:
        name = kafka.topic(topic)
        places = [TopicPartition(name, partition) for partition in sorted(consumer.partitions_for_topic(name))]
        ends = consumer.end_offsets(places)
        for place in places:
            consumer.assign([place])
            consumer.seek(place, 0)
            moved, last = time.monotonic(), 0
            while (position := consumer.position(place, timeout_ms=_CALL_MS)) is None or position < ends[place]:
                if position not in (None, last):
                    moved, last = time.monotonic(), position
                assert time.monotonic() - moved < _PATIENCE_S, f"{place}: no progress at {last} of {ends[place]}"
                for records in consumer.poll(timeout_ms=500).values():
                    for record in records:
                        content = record.key, record.value, tuple(record.headers), record.timestamp
                        yield Received(topic, record.partition, record.offset, *content)
    finally:
        consumer.close()


def lag(kafka: KafkaSettings, group: str, topic: str) -> int:
    """Return the number of offsets between a group's committed offsets and the last stable offsets.

    While an open transaction hides the committed offsets, the largest integer.
    """
    consumer = plain_consumer(kafka, group_id=kafka.topic(group))
    try:
        name = kafka.topic(topic)
        places = [TopicPartition(name, partition) for partition in consumer.partitions_for_topic(name)]
        ends = consumer.end_offsets(places)
        return sum(ends[place] - (consumer.committed(place, timeout_ms=_CALL_MS) or 0) for place in places)
    except KafkaTimeoutError:
        return sys.maxsize
    finally:
        consumer.close()
