"""The flow's rules one by one; test_flow_guarantee.py has what they are for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.workers.echo import until
from tests.workers.simulated import Clock
from workers.batch import Batch, BatchPolicy
from workers.flow import Flow
from workers.stage import Place, Received
from workers.waiting import Background

P: Place = ("references", 0)
Q: Place = ("references", 1)
LONG = 30.0


def records(start: int, stop: int, place: Place = P, size: int = 0) -> list[Received]:
    return [Received(*place, offset, None, b"x" * size, (), 0) for offset in range(start, stop)]


def flow_of(*places: Place, records: int = 10, bytes: int = 10**9, linger_s: float = 0.0, queue_bytes: int = 10**9) -> Flow:
    flow = Flow(BatchPolicy(records, bytes, linger_s), queue_bytes=queue_bytes)
    assign(flow, *(places or (P,)))
    return flow


def assign(flow: Flow, *places: Place) -> None:
    """Ours, heard of, and sought to their committed offsets."""
    flow.assign(places)
    for place in places:
        flow.sought_back(place, flow.departures())
    flow.news()


def taken(flow: Flow, timeout_s: float = 0) -> Batch:
    batch = flow.take(timeout_s)
    assert batch is not None
    return batch


def offsets(batch: Batch) -> list[int]:
    return [record.offset for record in batch.records]


def waits(flow: Flow) -> bool:
    """Whether any record does."""
    return len(flow._queue) > 0


def offer(flow: Flow, *groups: list[Received]) -> None:
    flow.offer([record for group in groups for record in group])


class Later:
    """A call in a thread of its own, and what it returned."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.answers: list[Any] = []
        self.thread = threading.Thread(target=lambda: self.answers.append(call()), daemon=True)
        self.thread.start()

    def answer(self) -> Any:
        self.thread.join(LONG)
        assert not self.thread.is_alive(), "it still waits"
        return self.answers[0]


# When batches close


def test_an_idle_worker_takes_what_is_there_at_once():
    flow = flow_of(linger_s=LONG)
    waiting = Later(lambda: flow.take(LONG))
    offer(flow, records(0, 3))
    assert offsets(waiting.answer()) == [0, 1, 2]


def test_the_first_batch_after_idleness_does_not_linger_even_when_records_came_before_it_was_asked_for():
    flow = flow_of(linger_s=LONG)
    offer(flow, records(0, 3))
    assert offsets(taken(flow)) == [0, 1, 2]


def under_load(**policy: Any) -> Flow:
    """A flow whose last batch left records waiting, once that was found twice."""
    flow = flow_of(**policy)
    offer(flow, records(0, 21, size=10))
    assert offsets(taken(flow)) == list(range(10))
    assert offsets(taken(flow)) == list(range(10, 20))
    return flow


@pytest.mark.parametrize(("size", "last", "fit"), [(0, 30, 30), (1000, 22, 21)])
def test_under_load_a_batch_waits_until_its_records_or_bytes_are_there(size: int, last: int, fit: int):
    flow = under_load(linger_s=LONG, bytes=2000)
    waiting = Later(lambda: flow.take(LONG))
    offer(flow, records(21, last - 1, size=size))
    time.sleep(0.02)
    assert waiting.thread.is_alive(), "it did not wait for the budget"
    offer(flow, records(last - 1, last, size=size + 900 if size else 0))
    assert offsets(waiting.answer()) == list(range(20, fit)), "the last one does not fit in"


def test_under_load_a_batch_closes_after_the_linger_with_what_there_is():
    flow = under_load(linger_s=0.01)
    assert offsets(taken(flow, LONG)) == [20]


def test_a_worker_that_found_nothing_is_idle_again():
    flow = under_load(linger_s=0.01)
    taken(flow)
    assert flow.take(0) is None
    flow.policy = BatchPolicy(10, 10**9, LONG)
    offer(flow, records(21, 23))
    assert offsets(taken(flow)) == [21, 22]


def test_a_batch_has_at_most_its_records():
    flow = flow_of(records=4)
    offer(flow, records(0, 10))
    assert [offsets(taken(flow)) for _ in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_batch_closes_before_its_bytes_are_exceeded_and_never_stays_empty():
    flow = flow_of(bytes=1000)
    offer(flow, records(0, 1, size=5000), records(1, 5, size=400))
    assert [offsets(taken(flow)) for _ in range(3)] == [[0], [1, 2], [3, 4]]
    assert not waits(flow)


def test_nothing_comes_in_time():
    assert flow_of().take(0.01) is None


def test_positions_are_the_next_offset_of_every_partition():
    flow = flow_of(P, Q)
    offer(flow, records(0, 3), records(7, 9, Q))
    assert taken(flow).positions == {P: 3, Q: 9}


# News


def test_news_is_heard_before_records_are_seen():
    flow = flow_of(P)
    flow.assign([Q])
    flow.sought_back(Q, flow.departures())
    offer(flow, records(0, 1, Q))
    assert flow.take(LONG) is None
    assert flow.news() == [("assigned", (Q,))]
    assert offsets(taken(flow)) == [0]


@pytest.mark.parametrize("event", ["assigned", "released"])
def test_news_that_comes_while_a_batch_lingers_is_heard_first(event: str):
    flow = flow_of(P, Q, linger_s=LONG)
    flow.revoke([Q], 0)
    flow.news()
    offer(flow, records(0, 21))
    taken(flow), taken(flow)
    lingering = Later(lambda: flow.take(LONG))
    time.sleep(0.05)
    if event == "assigned":
        flow.assign([Q])
        flow.sought_back(Q, flow.departures())
        offer(flow, records(0, 9, Q))
    else:
        flow.lose([Q])
    assert lingering.answer() is None, "the stage would see records of a partition that it has not heard of"
    assert [kind for kind, _ in flow.news()] == [event]


def test_the_stage_hears_of_a_partition_once_it_is_known_where_that_begins():
    """Before, what its last worker has yet to commit would be missing in what the stage looks up."""
    flow = flow_of()
    flow.news()
    flow.revoke([P], 0)
    flow.assign([P, Q])
    flow.resume(renew=True)
    assert flow.news() == [("released", (P,))]
    for place in (P, Q):
        flow.sought_back(place, flow.departures())
    assert flow.news() == [("assigned", (P, Q))]
    flow.discard()
    flow.sought_back(P, flow.departures())
    assert flow.news() == [], "what is read again did not leave"


# Rebalances


def test_records_of_partitions_that_are_not_ours_are_dropped():
    flow = flow_of(P)
    offer(flow, records(0, 2, Q), records(0, 1))
    assert taken(flow).positions == {P: 1}


def test_a_partition_that_left_and_came_back_within_one_poll_is_read_again():
    flow = flow_of(P, Q)
    flow.revoke([P], 0)
    flow.assign([P])
    flow.news()
    offer(flow, records(5, 8), records(0, 2, Q))
    assert taken(flow).positions == {Q: 2}
    assert flow.to_seek_back() == {P}
    offer(flow, records(8, 9))
    assert flow.take(0) is None, "records came in before the partition was sought back"
    flow.sought_back(P, flow.departures())
    assert flow.news() == [("assigned", (P,))]
    offer(flow, records(3, 5))
    assert offsets(taken(flow)) == [3, 4]


def test_records_polled_before_their_partition_was_announced_are_read_again():
    flow = flow_of(Q)
    offer(flow, records(0, 3))
    flow.assign([P])
    flow.news()
    offer(flow, records(3, 5))
    assert flow.take(0) is None, "records 0 to 2 would be skipped"
    assert flow.to_seek_back() == {P}


def test_a_partition_that_left_and_came_back_while_it_was_sought_back_is_sought_back_anew():
    flow = flow_of(P)
    flow.discard()
    before = flow.departures()
    flow.revoke([P], 0)
    flow.assign([P])
    flow.sought_back(P, before)
    assert flow.to_seek_back() == {P}


def test_revoking_waits_for_the_batch_in_flight():
    flow = flow_of(P)
    offer(flow, records(0, 15))
    batch = taken(flow)
    revoking = Later(lambda: flow.revoke([P], LONG))
    until(lambda: not flow.owned())
    assert revoking.thread.is_alive()
    assert flow.current(batch)
    assert not waits(flow), "records that wait belong to another worker now"
    flow.done(batch)
    assert revoking.answer() is True
    assert flow.news() == [("released", (P,))]


def test_revoking_does_not_wait_for_other_partitions():
    flow = flow_of(P, Q)
    offer(flow, records(0, 1, Q))
    batch = taken(flow)
    assert flow.revoke([P], 0) is True
    assert flow.current(batch)


def test_at_the_deadline_what_is_in_flight_is_given_up_and_the_rest_read_again():
    flow = flow_of(P, Q)
    offer(flow, records(0, 1), records(0, 1, Q))
    batch = taken(flow)
    offer(flow, records(1, 2, Q))
    assert flow.revoke([P], 0.01) is False
    assert not flow.current(batch)
    assert flow.to_seek_back() == set(), "the batch in flight may still be in an open transaction"
    flow.done(batch)
    assert flow.to_seek_back() == {Q}
    assert flow.news() == [("released", (P,))]


def test_what_is_lost_is_not_committed():
    flow = flow_of(P, Q)
    offer(flow, records(0, 12), records(0, 2, Q))
    batch = taken(flow)
    flow.lose([P, Q])
    assert not flow.current(batch)
    assert flow.owned() == frozenset()
    assert not waits(flow)
    flow.done(batch)
    assert flow.to_seek_back() == set()


# Failing transactions


def test_after_a_failed_transaction_everything_uncommitted_is_read_again():
    flow = flow_of(P, Q)
    offer(flow, records(0, 25), records(0, 1, Q))
    first, second = taken(flow), taken(flow)
    flow.discard()
    assert not flow.current(first)
    assert not flow.current(second)
    assert flow.take(0) is None
    assert not flow.idle()
    flow.done(first)
    assert flow.to_seek_back() == {Q}
    flow.done(second)
    assert flow.to_seek_back() == {P, Q}
    for place in (P, Q):
        flow.sought_back(place, flow.departures())
    assert flow.idle()
    offer(flow, records(0, 1))
    assert flow.current(taken(flow))


# Backpressure and waiting


def test_full_and_drained_have_a_gap_between_them():
    flow = flow_of(records=1, queue_bytes=1000)
    assert flow.drained()
    offer(flow, records(0, 4, size=150))
    assert flow.full()
    seen = []
    while waits(flow):
        taken(flow)
        seen.append((flow.full(), flow.drained()))
    assert seen == [(False, False), (False, False), (False, True), (False, True)]


def test_dropping_records_frees_their_room():
    flow = flow_of(P, Q, queue_bytes=1000)
    offer(flow, records(0, 9), records(0, 1, Q))
    flow.revoke([P], 0)
    assert flow.drained()
    offer(flow, records(1, 10, Q))
    assert flow.full()


def test_the_oldest_record_that_waits_is_known_by_its_age_whatever_left_before_it():
    clock = Clock()
    flow = Flow(BatchPolicy(records=2), queue_bytes=10**9, clock=clock)
    assign(flow, P, Q)
    assert flow.oldest_s() == 0
    ages = []
    for clock.now, group in ((1.0, records(0, 2)), (2.0, records(0, 1, Q)), (4.0, records(2, 3))):
        offer(flow, group)
    clock.now = 10.0
    ages.append(flow.oldest_s())
    taken(flow)
    ages.append(flow.oldest_s())
    flow.revoke([Q], 0)
    flow.news()
    ages.append(flow.oldest_s())
    flow.discard()
    ages.append(flow.oldest_s())
    assert ages == [9.0, 8.0, 6.0, 0.0]


def test_records_of_background_topics_wait_and_are_not_live():
    clock, again = Clock(), ("retries", 0)
    flow = Flow(BatchPolicy(records=2), queue_bytes=10**9, clock=clock, background=Background(frozenset({"retries"})))
    assign(flow, P, again)
    clock.now = 1.0
    offer(flow, records(0, 2, again))
    assert waits(flow)
    assert flow.live_s() is None
    clock.now = 3.0
    offer(flow, records(0, 3))
    assert flow.live_s() == 0.0
    clock.now = 4.0
    assert flow.live_s() == 1.0
    assert taken(flow).positions == {P: 2}  # live ones first
    assert waits(flow)
    assert taken(flow).positions == {P: 3, again: 1}
    flow.revoke([P], 0)
    assert flow.live_s() is None
    flow.news()
    assign(flow, P)
    offer(flow, records(3, 4))
    assert flow.live_s() is not None
    flow.discard()
    assert flow.live_s() is None


def test_what_the_background_weighs_pauses_no_live_topic_and_is_bounded_by_itself():
    again = ("retries", 0)
    flow = Flow(BatchPolicy(records=5), queue_bytes=4000, background=Background(frozenset({"retries"}), lambda *_: False))
    assign(flow, P, again)
    offer(flow, records(0, 1, again, size=800))
    assert not flow.full_behind()
    offer(flow, records(1, 2, again, size=8000))
    assert (flow.full_behind(), flow.full(), flow.drained()) == (True, False, True)
    flow.discard()
    offer(flow, records(0, 5, again))
    assert not flow.full_behind(), "they are read again first"
    flow.sought_back(again, flow.departures())
    offer(flow, records(0, 5, again))
    assert flow.full_behind()
    flow.sought_back(P, flow.departures())
    offer(flow, records(0, 1, size=8000))
    assert (flow.full(), flow.drained()) == (True, False)


def test_a_worker_rests_while_the_background_waits_for_it_knows_not_what():
    again = ("retries", 0)
    ready: list[bool] = []
    flow = Flow(BatchPolicy(), queue_bytes=10**9, background=Background(frozenset({"retries"}), lambda *_: bool(ready)))
    assign(flow, P, again)
    offer(flow, records(0, 2, again))
    assert flow.take(0) is None
    assert (flow.idle(), flow.held(), flow.handled()) == (True, {again}, set())
    with flow.rest() as idle:
        assert idle
    ready.append(True)
    batch = taken(flow)
    assert (flow.idle(), flow.held(), flow.handled()) == (False, {again}, {again})
    with flow.rest() as idle:
        assert not idle
    flow.done(batch)
    assert (flow.idle(), flow.held()) == (True, set())


def test_while_the_stage_hears_of_partitions_it_is_said_so():
    flow = flow_of(P)
    assert not flow.news()
    flow.assign([Q])
    flow.sought_back(Q, flow.departures())
    assert not flow.hearing()
    assert flow.news()
    assert flow.hearing()
    assert not flow.news()
    assert not flow.hearing()


def test_waiting_for_a_batch():
    flow = flow_of()
    offer(flow, records(0, 1))
    batch = taken(flow)
    assert flow.wait_for(batch, 0.01) is False
    waiting = Later(lambda: flow.wait_for(batch, LONG))
    flow.done(batch)
    assert waiting.answer() is True


# The end


def test_after_closing_no_batch_is_taken_and_those_in_flight_go_on():
    flow = flow_of()
    offer(flow, records(0, 15))
    batch = taken(flow)
    flow.close()
    assert flow.take(LONG) is None
    assert flow.current(batch)


def test_closing_ends_a_linger_without_a_batch():
    flow = under_load(linger_s=LONG)
    lingering = Later(lambda: flow.take(LONG))
    time.sleep(0.05)
    flow.close()
    assert lingering.answer() is None


def test_closing_wakes_who_waits():
    flow = flow_of()
    waiting = Later(lambda: flow.take(LONG))
    flow.close()
    assert waiting.answer() is None


def test_abandoning_frees_who_waits_for_batches_in_flight():
    flow = flow_of(P)
    offer(flow, records(0, 1))
    batch = taken(flow)
    revoking = Later(lambda: flow.revoke([P], LONG))
    awaiting = Later(lambda: flow.wait_for(batch, LONG))
    until(lambda: not flow.owned())
    flow.abandon()
    assert revoking.answer() is True
    assert awaiting.answer() is True
    assert not flow.current(batch)
    assert flow.take(0) is None


# Who is alone


def test_a_record_that_must_be_alone_makes_a_batch_of_its_own_in_its_place():
    flow = Flow(BatchPolicy(10, 10**9, 0.0), queue_bytes=10**9, alone=lambda record: record.offset in (0, 4, 5, 9))
    assign(flow, P)
    offer(flow, records(0, 12))
    batches = []
    while batch := flow.take(0):
        batches.append(offsets(batch))
    assert batches == [[0], [1, 2, 3], [4], [5], [6, 7, 8], [9], [10, 11]]


def test_one_that_must_be_alone_waits_for_no_others():
    flow = Flow(BatchPolicy(10, 10**9, LONG), queue_bytes=10**9, alone=lambda record: record.offset < 3)
    assign(flow, P)
    offer(flow, records(0, 3))
    assert [offsets(taken(flow, LONG)) for _ in range(3)] == [[0], [1], [2]]
