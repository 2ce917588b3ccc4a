"""The lag of each owned partition: committed records of the input that the worker has not committed as handled.

Cost: one request for all ends, and one for each partition whose committed offset is not known in this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from kafka import TopicPartition
from kafka.errors import IllegalStateError

from workers.kafka.open_transactions import OpenTransactions
from workers.records import Partition
from workers.telemetry import metrics

_CALL_MS: Final = 3000


class Progress(NamedTuple):
    """The committed offset of a partition, and the records between it and the last stable offset."""

    position: int
    lag: int


class LagMeter:
    """Sets the metrics of lag and of open transactions. ``committed``: the committed offsets that this process knows."""

    def __init__(self, consumer: Any, committed: Mapping[Partition, int], hanging_after_s: float) -> None:
        self._consumer, self._committed = consumer, committed
        # Only reported: ending this worker would not end another producer's transaction and would delay other partitions.
        self._open = OpenTransactions(hanging_after_s)

    def measure(self, partitions: Mapping[Partition, TopicPartition]) -> dict[Partition, Progress]:
        """Measure the lag of these partitions, given with kafka-python's names of them."""
        ends = self._consumer.end_offsets(list(partitions.values()), timeout_ms=_CALL_MS)
        found: dict[Partition, Progress] = {}
        for partition, topic_partition in partitions.items():
            position = self._committed.get(partition)
            if position is None:
                position = self._consumer.committed(topic_partition, timeout_ms=_CALL_MS) or 0
            lag = max(0, ends[topic_partition] - position)
            metrics.LAG.labels(partition[0], str(partition[1])).set(lag)
            with suppress(IllegalStateError):  # the partition has just left
                # From the last fetch response, without a request; None before the first.
                self._open.observe(partition, ends[topic_partition], self._consumer.highwater(topic_partition) or 0)
            found[partition] = Progress(position, lag)
        return found

    def forget(self, partition: Partition) -> None:
        """Remove the metrics of a partition that the worker no longer owns."""
        self._open.forget(partition)
        with suppress(KeyError):  # never measured
            metrics.LAG.remove(partition[0], str(partition[1]))
