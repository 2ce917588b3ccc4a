"""A consumer that is a member of a worker's group, for tests that run single parts of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.workers.echo import until
from workers.config.settings import WorkerSettings
from workers.kafka.clients import GroupConsumer, group_consumer


@contextmanager
def member(settings: WorkerSettings, group: str = "echo") -> Iterator[GroupConsumer]:
    """Yield a consumer that has joined the group and owns all partitions of ``references``. It leaves the group at the end."""
    consumer = group_consumer(settings, group)
    try:
        consumer.subscribe([settings.topic("references")])
        until(lambda: consumer.poll(timeout_ms=100) or consumer.assignment())
        yield consumer
    finally:
        consumer.close()
