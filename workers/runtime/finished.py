"""A handled batch or background task on its way from the compute thread to the commit thread and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workers.records import Partition, Received
from workers.runtime.batching import Batch
from workers.stage import Output
from workers.telemetry import metrics
from workers.telemetry.recording import observe


@dataclass
class Finished:
    """A batch with the stage's output, and the records that become dead letters with their errors.

    ``offsets`` is set when it is committed: the last offset written to each partition. It stays None if it is given up.
    """

    batch: Batch
    output: Output
    poison: Sequence[tuple[Received, Exception]] = ()
    offsets: Mapping[Partition, int] | None = None

    def update_metrics(self) -> None:
        """Count the committed records."""
        for topic, count in Counter(record.topic for record in self.batch.records).items():
            metrics.RECORDS_IN.labels(topic).inc(count)
        for topic, count in Counter(message.topic for message in self.output.messages).items():
            metrics.RECORDS_OUT.labels(topic).inc(count)
        for record, error in self.poison:
            metrics.DEAD_LETTERS.labels(record.topic, type(error).__name__).inc()
        if self.batch.records:  # else a background task
            metrics.BATCH_RECORDS.observe(len(self.batch.records))
        observe(self.output.observed)
