"""What polling shows of partitions that leave."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from kafka import TopicPartition

from tests.workers.echo import Echo
from workers import metrics
from workers.batch import BatchPolicy
from workers.flow import Flow
from workers.polling import Poller
from workers.settings import WorkerSettings


class Leaving:
    """A consumer whose group takes a partition away while the ends are asked for."""

    poller: Poller

    def end_offsets(self, places: Iterable[TopicPartition], **_: Any) -> dict[TopicPartition, int]:
        self.poller.on_partitions_revoked([place for place in places if place.partition == 1])
        return dict.fromkeys(places, 100)

    def committed(self, *_: Any, **__: Any) -> int:
        return 40


def test_the_lag_of_a_partition_that_leaves_while_it_is_measured_is_not_shown_for_ever():
    settings, consumer = WorkerSettings(revocation_deadline_s=0.1), Leaving()
    flow = Flow(BatchPolicy(10, 10**9, 0.0), queue_bytes=10**9)
    poller = Poller(settings, Echo(), consumer, flow, {}, lambda _: nullcontext())
    consumer.poller = poller
    poller.on_partitions_assigned([TopicPartition(settings.topic("references"), number) for number in (0, 1)])
    try:
        poller._measure_lag()
        shown = {sample.labels["partition"]: sample.value for sample in metrics.LAG.collect()[0].samples}
        assert shown == {"0": 60.0}
        assert set(poller._progress) == {("references", 0)}, "lest it count as stalled when it comes back"
    finally:
        metrics.LAG.clear()
