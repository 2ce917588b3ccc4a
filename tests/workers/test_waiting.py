"""The queue's order and what is ready in it, beside a plain model of it."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from workers.batch import BatchPolicy, weight
from workers.stage import Received
from workers.waiting import Background, Waiting

LIVE, AGAIN = "references", "retries"


def record(topic: str, offset: int, partition: int = 0, size: int = 0) -> Received:
    return Received(topic, partition, offset, None, b"x" * size, (), 0)


def waiting(*records: Received, behind: Background | None = None) -> Waiting:
    queue = Waiting(background=behind or Background(frozenset({AGAIN})))
    for each in records:
        queue.add(each, 0.0)
    return queue


def cut(queue: Waiting, most: int = 100) -> list[tuple[str, int]]:
    records, size = queue.cut(BatchPolicy(most))
    assert size == sum(map(weight, records))
    return [(each.topic, each.offset) for each in records]


def test_live_records_go_first_and_leave_the_rest_of_the_batch_to_the_background():
    queue = waiting(record(AGAIN, 0), record(AGAIN, 1), record(LIVE, 0), record(LIVE, 1))
    assert cut(queue, 3) == [(LIVE, 0), (LIVE, 1), (AGAIN, 0)]
    assert cut(queue, 3) == [(AGAIN, 1)]
    assert (len(queue), queue.bytes) == (0, 0)


def test_what_is_not_ready_holds_back_those_behind_it_and_no_live_record():
    known = {0, 2}
    queue = waiting(
        *(record(AGAIN, offset) for offset in range(3)),
        behind=Background(frozenset({AGAIN}), lambda each: each.offset in known),
    )
    assert queue.ready(0.0)
    assert cut(queue) == [(AGAIN, 0)]
    assert not queue.ready(1e9)
    assert cut(queue) == []
    assert not queue.complete(BatchPolicy(1))
    queue.add(record(LIVE, 0), 0.0)
    assert queue.ready(0.0)
    assert queue.complete(BatchPolicy(1))
    assert not queue.complete(BatchPolicy(2))
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
    assert cut(queue) == [(LIVE, 0), (AGAIN, 0)]  # it joins a batch that is there anyway
    assert waiting(*(record(AGAIN, offset) for offset in range(100)), behind=lingering).ready(0.0)


def test_ages_are_those_of_the_first_live_record_and_of_the_first_of_the_next_batch():
    queue = waiting(record(AGAIN, 0))
    queue.add(record(LIVE, 0), 3.0)
    assert (queue.live_s(5.0), queue.oldest_s(5.0)) == (2.0, 2.0)
    cut(queue, 1)
    assert (queue.live_s(5.0), queue.oldest_s(5.0)) == (0.0, 5.0)


def test_a_record_that_must_be_alone_is_so_in_its_place():
    queue = Waiting(lambda each: each.offset == 1, Background(frozenset({AGAIN})))
    for each in (record(AGAIN, 1), record(AGAIN, 2), record(LIVE, 0), record(LIVE, 1), record(LIVE, 2)):
        queue.add(each, 0.0)
    assert cut(queue) == [(LIVE, 0)]
    assert queue.complete(BatchPolicy())
    assert cut(queue) == [(LIVE, 1)]
    assert cut(queue) == [(LIVE, 2)]
    assert cut(queue) == [(AGAIN, 1)]
    assert cut(queue) == [(AGAIN, 2)]


records = st.lists(st.tuples(st.sampled_from([LIVE, AGAIN]), st.integers(0, 2), st.integers(0, 50)), max_size=30)


@given(records, st.lists(st.tuples(st.integers(1, 5), st.sets(st.integers(0, 2))), max_size=10))
def test_each_partition_keeps_its_order_and_nothing_is_lost_but_what_left(
    arrivals: Sequence[tuple[str, int, int]], turns: Sequence[tuple[int, set[int]]]
):
    queue = waiting()
    offered = [record(topic, offset, partition, size) for offset, (topic, partition, size) in enumerate(arrivals)]
    for each in offered:
        queue.add(each, 0.0)
    left: set[tuple[str, int]] = set()
    seen: list[Received] = []
    for most, gone in turns:
        leaving = {(AGAIN, partition) for partition in gone}
        queue.drop(leaving)
        left |= leaving
        taken, _ = queue.cut(BatchPolicy(most))
        assert len(taken) <= most
        assert not {(each.topic, each.partition) for each in taken} & left
        seen += taken
    seen += queue.cut(BatchPolicy(10**6))[0]
    assert (len(queue), queue.bytes) == (0, 0)
    for place in {(each.topic, each.partition) for each in offered} - left:
        assert [each for each in seen if (each.topic, each.partition) == place] == [
            each for each in offered if (each.topic, each.partition) == place
        ]
