"""Which partitions the consumer pauses, for given sizes of the queue."""

from __future__ import annotations

import pytest
from kafka import TopicPartition

from workers.runtime.backpressure import Backpressure
from workers.runtime.record_queue import Queued

LIVE, AGAIN = TopicPartition("references", 0), TopicPartition("retries", 0)


class Consumer:
    """A consumer that knows its paused partitions."""

    def __init__(self, *assigned: TopicPartition) -> None:
        self.assigned, self.paused = set(assigned), set[TopicPartition]()

    def assignment(self) -> set[TopicPartition]:
        return self.assigned

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)


def backpressure(consumer: Consumer) -> Backpressure:
    return Backpressure(consumer, {"retries"}, max_bytes=1000, batch_records=5)


def live(size: int) -> Queued:
    return Queued(1, size, 0, 0)


def test_inputs_resume_only_at_a_quarter_of_the_bytes_at_which_they_pause():
    consumer = Consumer(LIVE)
    pressure = backpressure(consumer)
    seen = []
    for size in (0, 999, 1000, 750, 251, 250, 999):
        pressure.apply(live(size))
        assert pressure.paused == bool(consumer.paused)
        seen.append(pressure.paused)
    assert seen == [False, False, True, True, True, False, False]


def test_a_partition_that_arrives_while_the_inputs_are_paused_is_paused_too():
    consumer = Consumer(LIVE)
    pressure = backpressure(consumer)
    pressure.apply(live(1000))
    consumer.assigned.add(AGAIN)
    pressure.apply(live(1000))
    assert consumer.paused == {LIVE, AGAIN}
    pressure.apply(live(0))
    assert consumer.paused == set()


@pytest.mark.parametrize(
    ("queued", "live_lag", "paused"),
    [
        (Queued(9, 999, 4, 249), 5, False),
        (Queued(0, 0, 5, 0), 0, True),
        (Queued(0, 0, 1, 250), 0, True),
        (Queued(0, 0, 0, 0), 6, True),
    ],
    ids=["below all limits", "records", "bytes", "lag"],
)
def test_background_inputs_pause_alone(queued: Queued, live_lag: int, paused: bool):
    consumer = Consumer(LIVE, AGAIN)
    pressure = backpressure(consumer)
    pressure.live_lag = live_lag
    pressure.apply(queued)
    assert consumer.paused == ({AGAIN} if paused else set())
    pressure.live_lag = 0
    pressure.apply(live(0))
    assert consumer.paused == set()
