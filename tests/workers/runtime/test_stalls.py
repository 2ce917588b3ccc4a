"""A partition with records to read and without progress is found, and no other."""

from __future__ import annotations

import pytest

from workers.errors import Stalled
from workers.runtime.stalls import StallDetector

P, Q = ("references", 0), ("references", 1)


def test_a_partition_without_progress_is_stalled():
    stalls = StallDetector(10)
    stalls.observe(P, 5, 3, 0.0, excused=False, queued=False)
    stalls.observe(P, 5, 3, 10.0, excused=False, queued=False)
    with pytest.raises(Stalled, match=r"references\[0\]: the committed offset 5 has not moved for 10 s, with 3 records"):
        stalls.observe(P, 5, 3, 10.1, excused=False, queued=False)


@pytest.mark.parametrize(
    ("position", "lag", "excused"), [(6, 3, False), (5, 0, False), (5, 3, True)], ids=["moved", "no lag", "excused"]
)
def test_what_counts_as_progress(position: int, lag: int, excused: bool):
    stalls = StallDetector(10)
    stalls.observe(P, 5, 3, 0.0, excused=False, queued=False)
    stalls.observe(P, position, lag, 20.0, excused=excused, queued=False)
    stalls.observe(P, position, 3, 25.0, excused=False, queued=False)


def test_queued_records_wait_while_another_partition_moves():
    stalls = StallDetector(10)
    stalls.observe(P, 5, 3, 0.0, excused=False, queued=True)
    stalls.observe(Q, 7, 3, 15.0, excused=False, queued=False)
    stalls.observe(P, 5, 3, 20.0, excused=False, queued=True)
    with pytest.raises(Stalled):
        stalls.observe(P, 5, 3, 25.0, excused=False, queued=True)


def test_a_partition_that_was_away_begins_anew():
    stalls = StallDetector(10)
    stalls.observe(P, 5, 3, 0.0, excused=False, queued=False)
    stalls.forget(P)
    assert P not in stalls
    stalls.observe(P, 5, 3, 20.0, excused=False, queued=False)
