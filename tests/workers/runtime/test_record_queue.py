"""The order of the queue and the records that are ready in it, compared with a plain model."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from workers.records import Received
from workers.runtime.batching import BatchPolicy, weight
from workers.runtime.record_queue import Background, RecordQueue

LIVE, AGAIN = "references", "retries"


def record(topic: str, offset: int, partition: int = 0, size: int = 0) -> Received:
    return Received(topic, partition, offset, None, b"x" * size, (), 0)


def waiting(*records: Received, behind: Background | None = None) -> RecordQueue:
    queue = RecordQueue(background=behind or Background(frozenset({AGAIN})))
    for each in records:
        queue.add(each, 0.0)
    return queue


def cut(queue: RecordQueue, most: int = 100) -> list[tuple[str, int]]:
    records, size = queue.cut(BatchPolicy(most), 0.0)
    assert size == sum(map(weight, records))
    return [(each.topic, each.offset) for each in records]


def test_live_records_go_first_and_with_them_at_most_as_many_of_the_background_as_there_is_room_for():
    queue = waiting(*(record(AGAIN, offset) for offset in range(9)), *(record(LIVE, offset) for offset in range(5)))
    assert cut(queue, 6) == [(LIVE, 0), (LIVE, 1), (LIVE, 2), (LIVE, 3), (LIVE, 4), (AGAIN, 0)]
    queue.add(record(LIVE, 5), 0.0)
    assert cut(queue) == [(LIVE, 5), (AGAIN, 1)]
    assert cut(queue, 6) == [(AGAIN, offset) for offset in range(2, 8)]
    assert cut(queue, 6) == [(AGAIN, 8)]
    assert queue.sizes() == (0, 0, 0, 0)


def test_what_is_not_ready_holds_back_those_behind_it_and_no_live_record():
    known = {0, 2}
    queue = waiting(
        *(record(AGAIN, offset) for offset in range(3)),
        behind=Background(frozenset({AGAIN}), lambda each, _: each.offset in known),
    )
    assert queue.ready(0.0)
    assert cut(queue) == [(AGAIN, 0)]
    assert not queue.ready(1e9)
    assert cut(queue) == []
    assert not queue.complete(BatchPolicy(1), 0.0)
    queue.add(record(LIVE, 0), 0.0)
    assert queue.ready(0.0)
    assert queue.complete(BatchPolicy(1), 0.0)
    assert not queue.complete(BatchPolicy(2), 0.0)
    assert cut(queue) == [(LIVE, 0)]
    known.add(1)
    assert queue.ready(0.0)
    assert cut(queue) == [(AGAIN, 1), (AGAIN, 2)]


def test_the_background_alone_lingers_until_it_is_old_or_many():
    lingering = Background(frozenset({AGAIN}), linger_s=1.0)
    queue = waiting(record(AGAIN, 0), behind=lingering)
    assert not queue.ready(0.9)
    assert queue.ready(1.0)
    queue.add(record(LIVE, 0), 0.5)
    assert queue.ready(0.5)
    assert cut(queue) == [(LIVE, 0), (AGAIN, 0)]  # it joins the batch of the live record
    assert waiting(*(record(AGAIN, offset) for offset in range(100)), behind=lingering).ready(0.0)


def test_waits_of_the_first_live_record_and_of_the_first_record_of_the_next_batch():
    queue = waiting(record(AGAIN, 0))
    queue.add(record(LIVE, 0), 3.0)
    queue.add(record(LIVE, 0, partition=1), 4.0)
    assert (queue.live_wait_s(5.0), queue.wait_s(5.0)) == (2.0, 2.0)
    queue.drop({(LIVE, 0)})
    assert (queue.live_wait_s(5.0), queue.wait_s(5.0)) == (1.0, 1.0)
    cut(queue, 1)
    assert (queue.live_wait_s(5.0), queue.wait_s(5.0)) == (None, 5.0)
    queue.clear()
    assert queue.wait_s(5.0) == 0.0


def test_a_record_that_must_be_alone_is_so_in_its_place():
    queue = RecordQueue(lambda each: each.offset == 1, Background(frozenset({AGAIN})))
    for each in (record(AGAIN, 1), record(AGAIN, 2), record(LIVE, 0), record(LIVE, 1), record(LIVE, 2)):
        queue.add(each, 0.0)
    assert cut(queue) == [(LIVE, 0)]
    assert queue.complete(BatchPolicy(), 0.0)
    assert cut(queue) == [(LIVE, 1)]
    assert cut(queue) == [(LIVE, 2)]
    assert cut(queue) == [(AGAIN, 1)]
    assert cut(queue) == [(AGAIN, 2)]


arrivals = st.lists(st.tuples(st.sampled_from([LIVE, AGAIN]), st.integers(0, 2), st.integers(0, 50)), max_size=30)
#: The limits of records and bytes of a batch, the offset below which background records are ready, and the partitions that
#: leave before the batch is taken.
turns = st.tuples(
    st.integers(1, 5),
    st.integers(100, 600),
    st.integers(0, 30),
    st.sets(st.tuples(st.sampled_from([LIVE, AGAIN]), st.integers(0, 2)), max_size=1),
)


@given(arrivals, st.lists(turns, max_size=10), st.sets(st.integers(0, 30), max_size=3))
def test_each_partition_keeps_its_order_and_nothing_is_lost_but_what_left(
    came: Sequence[tuple[str, int, int]], asked: Sequence[tuple[int, int, int, set[tuple[str, int]]]], alone: set[int]
):
    ready = 0
    queue = RecordQueue(lambda each: each.offset in alone, Background(frozenset({AGAIN}), lambda each, _: each.offset < ready))
    offered = [record(topic, offset, partition, size) for offset, (topic, partition, size) in enumerate(came)]
    for each in offered:
        queue.add(each, 0.0)
    left: set[tuple[str, int]] = set()
    seen: list[Received] = []

    def take(policy: BatchPolicy) -> list[Received]:
        could = queue.ready(0.0)
        taken, size = queue.cut(policy, 0.0)
        assert bool(taken) == could
        assert size == sum(map(weight, taken))
        assert len(taken) <= policy.records
        assert len(taken) == 1 or (size <= policy.bytes and not {each.offset for each in taken} & alone)
        behind = [each for each in taken if each.topic == AGAIN]
        assert all(each.offset < ready for each in behind)
        assert len(behind) == len(taken) or 2 * len(behind) <= len(taken)
        assert taken[len(taken) - len(behind) :] == behind
        assert not {(each.topic, each.partition) for each in taken} & left
        return taken

    for most, size, ready, leaving in asked:  # noqa: B007 the lambda above reads it
        queue.drop(leaving)
        left |= leaving
        seen += take(BatchPolicy(most, size))
    ready = len(offered)
    while taken := take(BatchPolicy(3)):
        seen += taken
    assert queue.sizes() == (0, 0, 0, 0)
    for place in {(each.topic, each.partition) for each in offered} - left:
        assert [each for each in seen if (each.topic, each.partition) == place] == [
            each for each in offered if (each.topic, each.partition) == place
        ]
