"""The real broker that tests run against, and what they do with its topics."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kafka import TopicPartition

from workers.clients import plain_consumer
from workers.sending import Sender
from workers.settings import KafkaSettings, WorkerSettings
from workers.stage import Received
from workers.topics import TopicAdmin


def new_prefix() -> str:
    """A prefix of its own for each test: its topics, groups and transactional ids touch no other test's."""
    return f"t{uuid.uuid4().hex[:8]}."


def create_topics(address: str, prefix: str, partitions: int = 3) -> KafkaSettings:
    """All topics under the prefix."""
    settings = KafkaSettings(kafka_bootstrap_servers=address, topic_prefix=prefix)
    with TopicAdmin(settings) as admin:
        admin.create(partitions, 1)
    return settings


def worker_settings(kafka: KafkaSettings, folder: Path, model: type[WorkerSettings] = WorkerSettings, **more: Any) -> Any:
    """Settings that make faults show within seconds."""
    quick = {
        "kafka_bootstrap_servers": kafka.kafka_bootstrap_servers,
        "topic_prefix": kafka.topic_prefix,
        "state_dir": folder,
        "slot": "a",
        "session_timeout_s": 6.0,
        "revocation_deadline_s": 2.0,
        "idle_commit_s": 0.2,
        "lag_interval_s": 0.3,
    }
    return model(**{**quick, **more})


def send(kafka: KafkaSettings, topic: str, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
    """Sends (key, value) records and waits for all."""
    with Sender(kafka) as sender:
        for key, value in records:
            sender.send(topic, key, value)


def read_all(kafka: KafkaSettings, topic: str) -> list[Received]:
    """All committed records of a topic, by partition and offset."""
    return list(iterate(kafka, topic))


def iterate(kafka: KafkaSettings, topic: str) -> Iterator[Received]:
    """The same, as they come."""
    consumer = plain_consumer(kafka)
    try:
        name = kafka.topic(topic)
        places = [TopicPartition(name, partition) for partition in sorted(consumer.partitions_for_topic(name))]
        ends = consumer.end_offsets(places)
        for place in places:
            consumer.assign([place])
            consumer.seek(place, 0)
            while consumer.position(place) < ends[place]:
                for records in consumer.poll(timeout_ms=500).values():
                    for record in records:
                        yield Received(
                            topic,
                            record.partition,
                            record.offset,
                            record.key,
                            record.value,
                            tuple(record.headers),
                            record.timestamp,
                        )
    finally:
        consumer.close()


def lag(kafka: KafkaSettings, group: str, topic: str) -> int:
    """Records between a group's committed offsets and the last stable offsets."""
    consumer = plain_consumer(kafka, group_id=kafka.topic(group))
    try:
        name = kafka.topic(topic)
        places = [TopicPartition(name, partition) for partition in consumer.partitions_for_topic(name)]
        ends = consumer.end_offsets(places)
        return sum(ends[place] - (consumer.committed(place) or 0) for place in places)
    finally:
        consumer.close()
