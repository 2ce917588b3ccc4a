"""The batches in flight: taken from the queue, and neither committed nor given up.

States of a batch::

    start ──▶ current ──discard──▶ outdated
                 │                    │
                 └──────── done ──────┴──▶ not in flight

Only a current batch may be committed. An outdated batch stays in flight, because the thread that commits may have an open
transaction with its offsets: until ``done``, the committed offsets of its partitions are not stable.

This class has no lock; the caller (``Flow``, ``Partitions``) holds the lock of the flow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from workers.records import Partition, Received
from workers.runtime.batching import Batch


class InFlight:
    """The batches in flight, and the epoch, which rises with each discard: a batch is current if it was started in it."""

    def __init__(self) -> None:
        self._epoch = 0
        self._batches: dict[int, Batch] = {}
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._batches)

    def __contains__(self, batch: Batch) -> bool:
        return batch.number in self._batches

    def start(self, records: list[Received], size: int = 0, positions: dict[Partition, int] | None = None) -> Batch:
        """Return a new batch of ``size`` bytes, or one without records that commits ``positions``."""
        batch = Batch(next(self._numbers), self._epoch, records, size, positions or {})
        self._batches[batch.number] = batch
        return batch

    def current(self, batches: Iterable[Batch]) -> bool:
        """Return whether all these batches may be committed."""
        return all(batch.epoch == self._epoch for batch in batches)

    def discard(self) -> None:
        """Make all batches outdated."""
        self._epoch += 1

    def done(self, batch: Batch) -> None:
        """Remove a batch that was committed or given up."""
        self._batches.pop(batch.number, None)

    def clear(self) -> None:
        """Remove all batches."""
        self._batches.clear()

    def partitions(self) -> set[Partition]:
        """Return the partitions whose offsets the batches commit."""
        return {partition for batch in self._batches.values() for partition in batch.positions}

    def with_records(self) -> set[Partition]:
        """Return the partitions with records in the batches."""
        return {partition for batch in self._batches.values() if batch.records for partition in batch.positions}
