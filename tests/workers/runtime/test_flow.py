"""The flow's rules one by one; test_flow_guarantee.py tests the guarantee that they serve."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.workers.echo import until
from tests.workers.simulated import LONG, Clock, Later, P, Q, assign, gain, seek_back, take_events
from workers.records import Partition, Received
from workers.runtime.batching import Batch, BatchPolicy, weight
from workers.runtime.flow import Flow
from workers.runtime.record_queue import Background


def records(start: int, stop: int, partition: Partition = P, size: int = 0) -> list[Received]:
    return [Received(*partition, offset, None, b"x" * size, (), 0) for offset in range(start, stop)]


def flow_of(*partitions: Partition, records: int = 10, bytes: int = 10**9, linger_s: float = 0.0) -> Flow:
    flow = Flow(BatchPolicy(records, bytes, linger_s))
    assign(flow, *(partitions or (P,)))
    return flow


def taken(flow: Flow, timeout_s: float = 0) -> Batch:
    batch = flow.take(timeout_s)
    assert batch is not None
    return batch


def offsets(batch: Batch) -> list[int]:
    return [record.offset for record in batch.records]


def waits(flow: Flow) -> bool:
    """Return whether any record is queued."""
    return flow.queued().live + flow.queued().background > 0


def offer(flow: Flow, *groups: list[Received]) -> None:
    flow.offer([record for group in groups for record in group])


# When batches close


def test_an_idle_worker_takes_waiting_records_at_once():
    flow = flow_of(linger_s=LONG)
    waiting = Later(lambda: flow.take(LONG))
    offer(flow, records(0, 3))
    assert offsets(waiting.answer()) == [0, 1, 2]


def test_the_first_batch_after_idleness_does_not_linger_even_if_records_arrived_before_take():
    flow = flow_of(linger_s=LONG)
    offer(flow, records(0, 3))
    assert offsets(taken(flow)) == [0, 1, 2]


def under_load(**policy: Any) -> Flow:
    """Return a flow under load: two batches in a row were taken from waiting records, and record 20 still waits."""
    flow = flow_of(**policy)
    offer(flow, records(0, 21, size=10))
    assert offsets(taken(flow)) == list(range(10))
    assert offsets(taken(flow)) == list(range(10, 20))
    return flow


@pytest.mark.parametrize(("size", "last", "fit"), [(0, 30, 30), (1000, 22, 21)])
def test_under_load_a_batch_waits_until_its_records_or_bytes_are_complete(size: int, last: int, fit: int):
    flow = under_load(linger_s=LONG, bytes=2000)
    waiting = Later(lambda: flow.take(LONG))
    offer(flow, records(21, last - 1, size=size))
    time.sleep(0.02)
    assert waiting.thread.is_alive(), "take returned before the batch was complete"
    offer(flow, records(last - 1, last, size=size + 900 if size else 0))
    assert offsets(waiting.answer()) == list(range(20, fit)), "the last record does not fit"


def test_under_load_a_batch_closes_after_the_linger_with_the_waiting_records():
    flow = under_load(linger_s=0.01)
    assert offsets(taken(flow, LONG)) == [20]


def test_a_worker_is_idle_again_after_a_take_without_records():
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


def test_take_returns_none_after_its_timeout():
    assert flow_of().take(0.01) is None


def test_positions_are_the_next_offset_of_every_partition():
    flow = flow_of(P, Q)
    offer(flow, records(0, 3), records(7, 9, Q))
    assert taken(flow).positions == {P: 3, Q: 9}


# Assignment events


def test_assignment_events_precede_records():
    flow = flow_of(P)
    gain(flow, Q)
    offer(flow, records(0, 1, Q))
    assert flow.take(LONG) is None
    assert take_events(flow) == [("assigned", (Q,))]
    assert offsets(taken(flow)) == [0]


@pytest.mark.parametrize("event", ["assigned", "released"])
def test_an_assignment_event_ends_a_linger(event: str):
    flow = flow_of(P, Q, linger_s=LONG)
    flow.partitions.revoke([Q], 0)
    take_events(flow)
    offer(flow, records(0, 21))
    taken(flow), taken(flow)
    lingering = Later(lambda: flow.take(LONG))
    time.sleep(0.05)
    if event == "assigned":
        gain(flow, Q)
        offer(flow, records(0, 9, Q))
    else:
        flow.partitions.lose([Q])
    assert lingering.answer() is None, "the stage would get records of a partition of which it has not been notified"
    assert [kind for kind, _ in take_events(flow)] == [event]


def test_the_stage_is_notified_of_a_partition_after_its_committed_offset_is_known():
    """Before, the last owner may be about to commit, and the stage's lookups would miss that commit."""
    flow = flow_of()
    take_events(flow)
    flow.partitions.revoke([P], 0)
    flow.partitions.assign([P, Q])
    flow.resume(renew=True)
    assert take_events(flow) == [("released", (P,))]
    seek_back(flow, P, Q)
    assert take_events(flow) == [("assigned", (P, Q))]
    flow.discard()
    seek_back(flow, P)
    assert take_events(flow) == [], "a partition that is read again did not leave"


# Rebalances


def test_records_of_partitions_that_are_not_owned_are_dropped():
    flow = flow_of(P)
    offer(flow, records(0, 2, Q), records(0, 1))
    assert taken(flow).positions == {P: 1}


def test_a_partition_that_left_and_returned_within_one_poll_is_read_again():
    flow = flow_of(P, Q)
    flow.partitions.revoke([P], 0)
    flow.partitions.assign([P])
    take_events(flow)
    offer(flow, records(5, 8), records(0, 2, Q))
    assert taken(flow).positions == {Q: 2}
    assert flow.partitions.to_seek_back() == {P}
    offer(flow, records(8, 9))
    assert flow.take(0) is None, "records came in before the partition was sought back"
    seek_back(flow, P)
    assert take_events(flow) == [("assigned", (P,))]
    offer(flow, records(3, 5))
    assert offsets(taken(flow)) == [3, 4]


def test_records_polled_before_their_partition_was_announced_are_read_again():
    flow = flow_of(Q)
    offer(flow, records(0, 3))
    flow.partitions.assign([P])
    take_events(flow)
    offer(flow, records(3, 5))
    assert flow.take(0) is None, "records 0 to 2 would be skipped"
    assert flow.partitions.to_seek_back() == {P}


def test_a_partition_that_left_and_returned_while_it_was_sought_back_is_sought_back_again():
    flow = flow_of(P)
    flow.discard()
    before = flow.partitions.departures()
    flow.partitions.revoke([P], 0)
    flow.partitions.assign([P])
    flow.partitions.sought_back(P, before)
    assert flow.partitions.to_seek_back() == {P}


def test_revoking_waits_for_the_batch_in_flight():
    flow = flow_of(P)
    offer(flow, records(0, 15))
    batch = taken(flow)
    revoking = Later(lambda: flow.partitions.revoke([P], LONG))
    until(lambda: not flow.partitions.owned())
    assert revoking.thread.is_alive()
    assert flow.current(batch)
    assert not waits(flow), "another worker owns these records now"
    flow.done(batch)
    assert revoking.answer() is True
    assert take_events(flow) == [("released", (P,))]


def test_revoking_does_not_wait_for_other_partitions():
    flow = flow_of(P, Q)
    offer(flow, records(0, 1, Q))
    batch = taken(flow)
    assert flow.partitions.revoke([P], 0) is True
    assert flow.current(batch)


def test_at_the_deadline_batches_in_flight_are_discarded_and_the_rest_is_read_again():
    flow = flow_of(P, Q)
    offer(flow, records(0, 1), records(0, 1, Q))
    batch = taken(flow)
    offer(flow, records(1, 2, Q))
    assert flow.partitions.revoke([P], 0.01) is False
    assert not flow.current(batch)
    assert flow.partitions.to_seek_back() == set(), "the batch in flight may still be in an open transaction"
    flow.done(batch)
    assert flow.partitions.to_seek_back() == {Q}
    assert take_events(flow) == [("released", (P,))]


def test_batches_of_lost_partitions_are_not_committed():
    flow = flow_of(P, Q)
    offer(flow, records(0, 12), records(0, 2, Q))
    batch = taken(flow)
    flow.partitions.lose([P, Q])
    assert not flow.current(batch)
    assert flow.partitions.owned() == frozenset()
    assert not waits(flow)
    flow.done(batch)
    assert flow.partitions.to_seek_back() == set()


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
    assert flow.partitions.to_seek_back() == {Q}
    flow.done(second)
    assert flow.partitions.to_seek_back() == {P, Q}
    seek_back(flow, P, Q)
    assert flow.idle()
    offer(flow, records(0, 1))
    assert flow.current(taken(flow))


# Backpressure and waiting


def test_dropping_records_frees_their_room():
    flow = flow_of(P, Q)
    offer(flow, records(0, 9), records(0, 1, Q))
    flow.partitions.revoke([P], 0)
    assert flow.queued() == (1, weight(records(0, 1)[0]), 0, 0)
    flow.discard()
    assert flow.queued() == (0, 0, 0, 0)


def test_records_of_background_topics_wait_and_are_not_live():
    clock, again = Clock(), ("retries", 0)
    flow = Flow(BatchPolicy(records=2), clock=clock, background=Background(frozenset({"retries"})))
    assign(flow, P, again)
    clock.now = 1.0
    offer(flow, records(0, 2, again))
    assert waits(flow)
    assert flow.live_wait_s() is None
    clock.now = 3.0
    offer(flow, records(0, 3))
    assert flow.live_wait_s() == 0.0
    clock.now = 4.0
    assert flow.live_wait_s() == 1.0
    assert taken(flow).positions == {P: 2}  # live records first
    assert waits(flow)
    assert taken(flow).positions == {P: 3, again: 1}
    flow.partitions.revoke([P], 0)
    assert flow.live_wait_s() is None
    take_events(flow)
    assign(flow, P)
    offer(flow, records(3, 4))
    assert flow.live_wait_s() is not None
    flow.discard()
    assert flow.live_wait_s() is None


def test_a_worker_is_idle_while_background_records_are_not_ready():
    again = ("retries", 0)
    ready: list[bool] = []
    flow = Flow(BatchPolicy(), background=Background(frozenset({"retries"}), lambda *_: bool(ready)))
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


def test_processing_events_lasts_until_no_event_is_left():
    flow = flow_of(P)
    assert not take_events(flow)
    gain(flow, Q)
    assert not flow.partitions.processing_events()
    assert flow.partitions.next_event()
    assert flow.partitions.processing_events()
    assert not flow.partitions.next_event()
    assert not flow.partitions.processing_events()


def test_wait_for_returns_whether_the_batch_is_done():
    flow = flow_of()
    offer(flow, records(0, 1))
    batch = taken(flow)
    assert flow.wait_for(batch, 0.01) is False
    waiting = Later(lambda: flow.wait_for(batch, LONG))
    flow.done(batch)
    assert waiting.answer() is True


# Shutdown


def test_after_closing_no_batch_is_taken_and_batches_in_flight_stay_current():
    flow = flow_of()
    offer(flow, records(0, 15))
    batch = taken(flow)
    flow.close()
    assert flow.take(LONG) is None
    assert flow.current(batch)


@pytest.mark.parametrize("linger", [True, False])
def test_closing_ends_a_take_without_a_batch(linger: bool):
    flow = under_load(linger_s=LONG) if linger else flow_of()
    waiting = Later(lambda: flow.take(LONG))
    time.sleep(0.05)
    flow.close()
    assert waiting.answer() is None


def test_abandoning_ends_waits_for_batches_in_flight():
    flow = flow_of(P)
    offer(flow, records(0, 1))
    batch = taken(flow)
    revoking = Later(lambda: flow.partitions.revoke([P], LONG))
    awaiting = Later(lambda: flow.wait_for(batch, LONG))
    until(lambda: not flow.partitions.owned())
    flow.abandon()
    assert revoking.answer() is True
    assert awaiting.answer() is True
    assert not flow.current(batch)
    assert flow.take(0) is None


# Records that must be alone


def test_a_record_that_must_be_alone_forms_a_batch_of_its_own_in_order():
    flow = Flow(BatchPolicy(10, 10**9, 0.0), alone=lambda record: record.offset in (0, 4, 5, 9))
    assign(flow, P)
    offer(flow, records(0, 12))
    batches = []
    while batch := flow.take(0):
        batches.append(offsets(batch))
    assert batches == [[0], [1, 2, 3], [4], [5], [6, 7, 8], [9], [10, 11]]


def test_a_record_that_must_be_alone_does_not_linger():
    flow = Flow(BatchPolicy(10, 10**9, LONG), alone=lambda record: record.offset < 3)
    assign(flow, P)
    offer(flow, records(0, 3))
    assert [offsets(taken(flow, LONG)) for _ in range(3)] == [[0], [1], [2]]


def test_a_partition_that_left_and_returned_is_not_wanted_until_the_stage_processed_its_departure():
    flow = flow_of(P)
    flow.partitions.lose([P])
    flow.partitions.assign([P])
    assert not flow.wanted(P), "another worker may have owned it meanwhile"
    seek_back(flow, P)
    assert not flow.wanted(P)
    assert flow.partitions.next_event() == ("released", (P,))
    assert flow.wanted(P)


def test_records_that_were_offered_before_are_left_out():
    """kafka-python goes back by itself when it takes the log for truncated."""
    flow = flow_of()
    assert flow.offer(records(0, 3)) == {}
    assert flow.offer(records(1, 3)) == {P: (1, 3)}, "the consumer must continue at 3"
    assert flow.offer(records(1, 5)) == {}, "the consumer continued by itself"
    assert offsets(taken(flow)) == [0, 1, 2, 3, 4]


def test_records_of_a_truncated_partition_are_read_under_their_new_offsets():
    flow = flow_of()
    offer(flow, records(0, 3))
    taken(flow)
    flow.partitions.truncated(P, 1)
    assert flow.offer(records(1, 2)) == {}
    assert offsets(taken(flow)) == [1]


def test_records_that_are_read_again_after_a_seek_are_queued():
    flow = flow_of()
    offer(flow, records(0, 3))
    flow.discard()
    seek_back(flow, P)
    assert flow.offer(records(1, 3)) == {}
    assert offsets(taken(flow)) == [1, 2]


def test_positions_of_an_idle_worker_are_committed_unless_a_partition_left_meanwhile():
    flow = flow_of(P, Q)
    before = flow.partitions.departures()
    batch = flow.idle_batch({P: 7}, before)
    assert batch is not None
    assert batch.positions == {P: 7}
    assert flow.idle_batch({Q: 7}, before) is None, "the worker is not idle"
    flow.done(batch)
    flow.partitions.lose([P])
    seek_back(flow, Q)
    assert flow.idle_batch({Q: 7}, before) is None, "a partition left"
    assert flow.idle_batch({Q: 7}, flow.partitions.departures()) is not None
