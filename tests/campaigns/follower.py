"""Reads a topic from its beginning in a thread, as a reader of committed records."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kafka import TopicPartition

from workers.config.settings import KafkaSettings
from workers.kafka.clients import plain_consumer


class Follower:
    """Calls ``receive`` with each record of a topic, in its own thread, until it is closed, and counts the records."""

    def __init__(self, kafka: KafkaSettings, topic: str, receive: Callable[[Any], object] = lambda _: None) -> None:
        self.count = 0
        self._kafka, self._topic, self._receive = kafka, kafka.topic(topic), receive
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, name=f"follower of {topic}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join()

    def _read(self) -> None:
        consumer = plain_consumer(self._kafka)
        try:
            partitions = [TopicPartition(self._topic, number) for number in consumer.partitions_for_topic(self._topic)]
            consumer.assign(partitions)
            consumer.seek_to_beginning(*partitions)
            while not self._stop.is_set():
                for records in consumer.poll(timeout_ms=50).values():
                    for record in records:
                        self._receive(record)
                        self.count += 1
        finally:
            consumer.close()
