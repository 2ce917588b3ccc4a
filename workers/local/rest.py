"""When a running pipeline has nothing left to do: all is read, every change of the catalog is looked at, and nothing moves."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Self

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from workers.clients import connect, plain_consumer
from workers.local.pipeline import Pipeline, Worker
from workers.settings import KafkaSettings
from workers.topics import TOPICS

#: What each worker reads in its group.
READ: Final[dict[Worker, tuple[str, ...]]] = {
    "parser": ("papers",),
    "linker": ("references", "retries"),
    "fallback": ("fallback",),
    "ledger": ("outcomes", "catalog"),
}
_FOLLOWERS: Final = ("linker", "fallback", "ledger")
#: Between two looks: long enough for a ledger to begin with what it has just taken in.
_APART_S: Final = 0.3


class Rest:
    """Looks again and again. Use as a context manager, or ``close``. One thread only.

    ``state`` changes whenever anything was written or read between two looks.
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
        """Whether the pipeline was at rest at the last look, is so now, and nothing has moved meanwhile.

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
        """Closes the connections."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
