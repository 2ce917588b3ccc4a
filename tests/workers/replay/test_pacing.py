"""The pace of a replay, with a simulated clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workers.replay.pacing import Forecast, Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(
    per_second=st.floats(0.1, 5000),
    steps=st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1)), max_size=60),
)
def test_the_rate_is_never_exceeded_except_for_a_burst_of_one_second(per_second: float, steps: list[tuple[float, float]]):
    clock = Clock()
    pace = Pace(per_second, 10**9, lambda: 0, clock)
    sent: list[tuple[float, int]] = []
    for passed, share in steps:
        clock.now += passed
        count = int(pace.allowed() * share)
        pace.sent(count)
        sent.append((clock.now, count))
    for first, (began, _) in enumerate(sent):
        total = 0
        for ended, count in sent[first:]:
            total += count
            assert total <= (ended - began) * per_second + max(1.0, per_second) + 1e-6


def test_an_idle_pace_reaches_its_rate():
    clock = Clock()
    pace, total = Pace(200, 10**9, lambda: 0, clock), 0
    for _ in range(1000):
        clock.now += 0.05
        total += (count := pace.allowed())
        pace.sent(count)
    assert 0.98 * 200 * 50 <= total <= 200 * 51


def test_a_slow_pace_sends_single_records():
    clock = Clock()
    pace, sent = Pace(0.5, 10, lambda: 0, clock), []
    for _ in range(20):
        clock.now += 0.5
        count = pace.allowed()
        pace.sent(count)
        sent.append(count)
    assert max(sent) == 1
    assert sum(sent) == 5


@given(ahead=st.integers(1, 500), reads=st.lists(st.integers(0, 200), max_size=50))
def test_the_unread_records_never_exceed_the_limit(ahead: int, reads: list[int]):
    clock, unread = Clock(), 0
    pace = Pace(1000, ahead, lambda: unread, clock)
    for read in reads:
        clock.now += 1
        count = pace.allowed()
        assert pace.held_up == (unread >= ahead)
        pace.sent(count)
        unread += count
        assert unread <= ahead
        unread = max(0, unread - read)


def test_nothing_is_allowed_while_others_fill_the_topic_beyond_the_limit():
    clock = Clock()
    pace = Pace(1000, 10, lambda: 5000, clock)
    clock.now += 1
    assert pace.allowed() == 0
    assert pace.held_up


def test_a_forecast_uses_the_last_minute():
    clock = Clock()
    forecast = Forecast(clock)
    assert (forecast.rate, forecast.left_s(10), forecast.left_s(0)) == (0.0, None, 0.0)
    for second in range(121):
        clock.now = 100.0 + second
        forecast.saw(10 * second if second <= 60 else 600 + 50 * (second - 60))
    assert forecast.rate == 50
    assert forecast.left_s(500) == 10
