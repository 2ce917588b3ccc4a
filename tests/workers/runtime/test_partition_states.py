"""States of partitions whose committed offset is known only after they left and returned."""

from __future__ import annotations

from workers.runtime.partition_states import PartitionStates

PARTITION = ("references", 0)


def returned(states: PartitionStates) -> int:
    """Let the partition leave and return. Return the number of departures before."""
    before = states.departures
    states.leave([PARTITION])
    states.assign([PARTITION])
    return before


def test_a_new_partition_with_a_stale_offset_stays_new():
    states = PartitionStates()
    states.assign([PARTITION])
    before = returned(states)
    assert not states.start_reading(PARTITION, before, 5)
    assert (states.to_seek_back(), states.notified(), states.next_offset(PARTITION)) == ({PARTITION}, set(), None)
    assert states.start_reading(PARTITION, states.departures, 7), "the stage must be notified"
    assert (states.to_seek_back(), states.notified(), states.next_offset(PARTITION)) == (set(), {PARTITION}, 7)


def test_a_partition_that_is_read_is_sought_back_after_a_stale_offset():
    states = PartitionStates()
    states.assign([PARTITION])
    before = returned(states)
    assert states.start_reading(PARTITION, states.departures, 7)
    assert not states.start_reading(PARTITION, before, 5)
    assert (states.to_seek_back(), states.notified(), states.next_offset(PARTITION)) == ({PARTITION}, {PARTITION}, None)
    assert not states.start_reading(PARTITION, states.departures, 8), "the stage has been notified"
    assert states.next_offset(PARTITION) == 8
