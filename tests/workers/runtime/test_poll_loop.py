"""The poll thread: metrics of partitions that leave while they are measured, and consumers that go back by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.structs import MemberState

from tests.workers.echo import Echo
from tests.workers.simulated import assign
from workers.config.settings import WorkerSettings
from workers.runtime import poll_loop
from workers.runtime.batching import BatchPolicy
from workers.runtime.flow import Flow
from workers.runtime.poll_loop import Poller
from workers.telemetry import metrics


class Leaving:
    """A consumer that loses a partition while its end offsets are read."""

    poller: Poller

    def end_offsets(self, places: Iterable[TopicPartition], **_: Any) -> dict[TopicPartition, int]:
        self.poller.on_partitions_revoked([place for place in places if place.partition == 1])
        return dict.fromkeys(places, 100)

    def highwater(self, _: TopicPartition) -> int:
        return 100

    def committed(self, *_: Any, **__: Any) -> int:
        return 40


def test_the_lag_of_a_partition_that_leaves_while_it_is_measured_is_not_shown_for_ever():
    settings, consumer = WorkerSettings(revocation_deadline_s=0.1), Leaving()
    flow = Flow(BatchPolicy(10, 10**9, 0.0))
    poller = Poller(settings, Echo(), consumer, flow, {}, lambda _: None, lambda _: nullcontext())
    consumer.poller = poller
    poller.on_partitions_assigned([TopicPartition(settings.topic("references"), number) for number in (0, 1)])
    try:
        poller.measure()
        shown = {sample.labels["partition"]: sample.value for sample in metrics.LAG.collect()[0].samples}
        assert shown == {"0": 60.0}
        assert ("references", 0) in poller.stalls
        assert ("references", 1) not in poller.stalls, "lest it count as stalled when it comes back"
    finally:
        metrics.LAG.clear()


@pytest.mark.parametrize("leave", [Poller.on_partitions_revoked, Poller.on_partitions_lost])
def test_the_lag_of_a_partition_that_left_is_not_exported(leave: Callable[[Poller, list[TopicPartition]], None]):
    settings, offsets = WorkerSettings(), {}
    consumer = SimpleNamespace(
        end_offsets=lambda places, **_: dict.fromkeys(places, 100), highwater=lambda _: 100, committed=lambda *_, **__: None
    )
    poller = Poller(
        settings, Echo(), consumer, Flow(BatchPolicy(10, 10**9, 0.0)), offsets, lambda _: None, lambda _: nullcontext()
    )
    places = [TopicPartition(settings.topic("references"), number) for number in (0, 1)]
    poller.on_partitions_assigned(places)
    try:
        poller.measure()
        offsets["references", 1] = 40
        leave(poller, places[1:])
        lag = {sample.labels["partition"]: sample.value for sample in metrics.LAG.collect()[0].samples}
        assert lag == {"0": 100.0}, "nothing is committed"
        assert ("references", 1) not in poller.stalls
        assert ("references", 1) not in offsets
    finally:
        metrics.LAG.clear()


class GoesBack:
    """A consumer that returns these polls and records its seeks."""

    def __init__(self, topic: str, *polls: range) -> None:
        self.partition, self.polls = TopicPartition(topic, 0), list(polls)
        self.seeks: list[int] = []

    def poll(self, **_: Any) -> Any:
        return {self.partition: [fetched(self.partition, offset) for offset in self.polls.pop(0)]}

    def group_metadata(self) -> Any:
        return SimpleNamespace(state=MemberState.STABLE)

    def seek(self, _: TopicPartition, offset: int) -> None:
        self.seeks.append(offset)


def fetched(partition: TopicPartition, offset: int) -> Any:
    return SimpleNamespace(
        topic=partition.topic, partition=partition.partition, offset=offset, key=None, value=b"", headers=[], timestamp=0
    )


@pytest.mark.parametrize(
    ("end", "seeks", "queued"),
    [(10, [2, 5], [0, 1, 2, 3, 4, 5]), (4, [2], [0, 1, 2, 3, 4, 2, 3])],
    ids=["the log is whole", "the log is truncated"],
)
def test_a_consumer_that_goes_back_by_itself(end: int, seeks: list[int], queued: list[int], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(poll_loop, "uncommitted_ends", lambda _, places: dict.fromkeys(places, end))
    settings, place = WorkerSettings(), ("references", 0)
    following = range(5, 6) if end == 10 else range(2, 4)
    consumer = GoesBack(settings.topic("references"), range(5), range(2, 4), following)
    flow = Flow(BatchPolicy(10, 10**9, 0.0))
    assign(flow, place)
    poller = Poller(settings, Echo(), consumer, flow, {}, lambda _: None, lambda _: nullcontext())
    for _ in range(3):
        poller.fetch(0)
    assert consumer.seeks == seeks
    batch = flow.take(0)
    assert batch is not None
    assert [record.offset for record in batch.records] == queued
