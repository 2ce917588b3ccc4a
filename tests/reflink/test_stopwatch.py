"""Laps add up to the elapsed time."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from reflink.stopwatch import Stopwatch

seconds = st.integers(0, 1000).map(float)


@given(st.lists(st.tuples(st.sampled_from("abc"), seconds)))
def test_laps_add_up_to_the_elapsed_time(laps: list[tuple[str, float]]) -> None:
    times = accumulate((time for _, time in laps), initial=5.0)
    watch = Stopwatch(lambda: next(times))
    for step, _ in laps:
        watch.lap(step)
    assert watch.seconds == {step: sum(time for name, time in laps if name == step) for step, _ in laps}


@given(seconds, seconds)
def test_a_moved_time_is_limited_by_the_step(elapsed: float, moved: float) -> None:
    times = iter([0.0, elapsed])
    watch = Stopwatch(lambda: next(times))
    watch.lap("model")
    watch.move(moved, "model", "tokens")
    assert watch.seconds == {"model": max(0.0, elapsed - moved), "tokens": min(elapsed, moved)}
