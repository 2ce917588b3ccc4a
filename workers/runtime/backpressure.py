"""Backpressure: pauses the inputs while too many records wait in memory, and background inputs while live ones lag.

A paused input costs one call of the consumer when the state changes; background inputs cost one call per turn of the poll loop.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka import TopicPartition

from workers.runtime.record_queue import Queued


class Backpressure:
    """All inputs pause at ``max_bytes`` of live records and resume at a quarter of that, to avoid frequent changes.

    The topics ``background`` pause as well while ``batch_records`` of their records, or a quarter of ``max_bytes``, wait in
    the queue, and while a live partition lags by more than ``batch_records``. Up to one batch does not count as lag: under
    steady traffic, records in flight are always part of the lag, and in the queue live records go first.
    """

    def __init__(self, consumer: Any, background: Collection[str], *, max_bytes: int, batch_records: int) -> None:
        self._consumer, self._background = consumer, background
        self._max_bytes, self._batch_records = max_bytes, batch_records
        #: Whether all inputs are paused.
        self.paused = False
        # The assignment when the inputs were last paused or resumed; new partitions start unpaused.
        self._assignment: frozenset[TopicPartition] = frozenset()
        #: The highest lag of a live partition, in records.
        self.live_lag = 0

    def apply(self, queued: Queued) -> None:
        """Pause or resume the consumer's partitions."""
        assignment = frozenset(self._consumer.assignment())
        quarter = self._max_bytes // 4
        paused = queued.live_bytes > quarter if self.paused else queued.live_bytes >= self._max_bytes
        if (paused, assignment) != (self.paused, self._assignment):
            (self._consumer.pause if paused else self._consumer.resume)(*assignment)
            self.paused, self._assignment = paused, assignment
        background = [each for each in assignment if each.topic in self._background]
        if background and not paused:
            full = queued.background >= self._batch_records or queued.background_bytes >= quarter
            (self._consumer.pause if full or self.live_lag > self._batch_records else self._consumer.resume)(*background)
