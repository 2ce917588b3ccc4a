"""A Kafka broker for one benchmark, with topics and a catalog."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from reflink.entities import Work
from workers.catalog.bulk_load import load, load_and_bind
from workers.config.settings import KafkaSettings
from workers.devkit.broker import Broker
from workers.devkit.ports import free_port
from workers.devkit.processes import Pipeline
from workers.kafka.clients import plain_consumer
from workers.kafka.topics import TopicAdmin

PARTITIONS = 6


@contextmanager
def broker_with_topics(
    folder: Path | None = None, partitions: int = PARTITIONS, extra: dict[str, str] | None = None
) -> Iterator[KafkaSettings]:
    """Start Kafka with all topics, in ``folder`` and with the broker settings ``extra`` if given."""
    with Broker.start(folder, port=free_port(), extra=extra) as broker:
        kafka = KafkaSettings(kafka_bootstrap_servers=broker.address)
        with TopicAdmin(kafka) as admin:
            admin.create(partitions, 1)
        yield kafka


@contextmanager
def broker_with_catalog(
    works: Sequence[Work], snapshot: Path | None, **settings: Any
) -> Iterator[tuple[KafkaSettings, Pipeline]]:
    """Start Kafka with the works loaded; yield a pipeline without workers, whose workers start from ``snapshot`` if given."""
    with tempfile.TemporaryDirectory() as name, broker_with_topics() as kafka:
        folder = Path(name)
        if snapshot is None:
            load(works, kafka)
        else:
            settings["catalog_snapshot"] = shutil.copytree(snapshot, folder / "catalog")
            load_and_bind(works, folder / "catalog", kafka)
        with Pipeline(folder, kafka_bootstrap_servers=kafka.kafka_bootstrap_servers, **settings) as pipeline:
            yield kafka, pipeline


def reader(kafka: KafkaSettings, *topics: str, at_end: bool = False) -> KafkaConsumer:
    """Return a consumer of all partitions of the topics, from the beginning or from the current end."""
    consumer = plain_consumer(kafka)
    places = [
        TopicPartition(name, partition)
        for name in map(kafka.topic, topics)
        for partition in consumer.partitions_for_topic(name) or ()
    ]
    consumer.assign(places)
    if at_end:
        seek_to_end(consumer)
    else:
        consumer.seek_to_beginning()
    return consumer


def seek_to_end(consumer: KafkaConsumer) -> None:
    """Continue at the current end of each partition; ``position`` makes the consumer look the end up now."""
    for place in consumer.assignment():
        consumer.seek_to_end(place)
        consumer.position(place)
