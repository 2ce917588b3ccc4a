"""Detect that a running pipeline is at rest: all records are read, all catalog changes are propagated, and nothing moves."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any, Final, Self

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from workers.config.settings import KafkaSettings
from workers.devkit.processes import Pipeline, Worker
from workers.kafka.clients import connect, plain_consumer
from workers.kafka.topics import TOPICS

#: The input topics of each worker's consumer group.
READ: Final[dict[Worker, tuple[str, ...]]] = {
    "parser": ("papers",),
    "linker": ("references", "retries"),
    "fallback": ("fallback",),
    "ledger": ("outcomes", "catalog"),
}
_FOLLOWERS: Final = ("linker", "fallback", "ledger", "indexer")
#: Time between two checks: long enough for a ledger to start handling records that it has just read.
_APART_S: Final = 0.3


class Rest:
    """Checks repeatedly whether a pipeline is at rest. Use as a context manager, or call ``close``. Not thread-safe.

    ``state`` changes whenever the pipeline has written or committed anything between two checks.
    """

    def __init__(self, kafka: KafkaSettings, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.state: object = None
        self._since = 0.0
        self._catalog = TopicPartition(kafka.topic("catalog"), 0)
        with ExitStack() as opened:
            self._consumer: Any = plain_consumer(kafka)
            opened.callback(self._consumer.close)
            self._admin: Any = connect(kafka, KafkaAdminClient)
            opened.callback(self._admin.close)
            self._places = {
                topic: [
                    TopicPartition(kafka.topic(topic), each)
                    for each in sorted(self._consumer.partitions_for_topic(kafka.topic(topic)) or ())
                ]
                for topic in TOPICS
            }
            self._groups = {
                kafka.topic(worker): [place for topic in topics for place in self._places[topic]]
                for worker, topics in READ.items()
            }
            self._opened = opened.pop_all()

    def reached(self) -> bool:
        """Return whether the pipeline is at rest now and has been since an earlier check, with no change in between.

        Raises WorkerDied or NotReady.
        """
        try:
            ends = self._consumer.end_offsets([place for places in self._places.values() for place in places])
            offsets = self._admin.list_group_offsets(self._groups)
        except KafkaError as error:
            if not error.retriable:
                raise
            return False
        left, committed = 0, []
        for group, places in self._groups.items():
            for place in places:
                found = offsets[group].get(place)
                committed.append(0 if found is None else max(0, found.offset))
                left += ends[place] > committed[-1]
        state, now = (tuple(ends.values()), tuple(committed)), time.monotonic()
        if state != self.state or left or not self._workers_are_done(ends[self._catalog]):
            self.state, self._since = state, now
            return False
        return now - self._since >= _APART_S

    def _workers_are_done(self, catalog_end: int) -> bool:
        for process in self._pipeline.processes:
            if process.worker in _FOLLOWERS and not process.dismissed:
                metrics = process.metrics()
                if metrics.sum("reflink_catalog_offset") < catalog_end or metrics.sum("reflink_ledger_changes_behind_records"):
                    return False
        return True

    def close(self) -> None:
        """Close the connections."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
