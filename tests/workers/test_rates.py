"""Following the catalog takes its share of a busy worker's time over any period. Tests of the account and of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.simulated import Busy, Clock, compute
from workers.config.settings import LedgerSettings
from workers.rates import MAX_SAVED_S, FollowShare
from workers.telemetry import metrics

#: The time of one step of 32 works on a CPU, in seconds.
STEP_S = 0.1

seconds = st.floats(0.0005, 2.0)


def loaded(share: float, batches: Sequence[float], steps: Sequence[float]) -> list[tuple[float, float]]:
    """Return the seconds of handling and of following after every batch, while records and changes always wait."""
    now, handling, following, seen = 0.0, 0.0, 0.0, []
    account = FollowShare(share, now)
    turns = iter(steps)
    for busy in batches:
        now += busy
        handling += busy
        allowed = account.turn(now, waiting=True)
        if allowed is not None:
            took = 0.0
            while not took or took < allowed:
                took += next(turns, STEP_S)
            now += took
            following += took
            account.took(now, 1e9)
        seen.append((handling, following))
    return seen


@given(st.floats(0.01, 0.9), st.lists(seconds, min_size=1, max_size=200), st.lists(seconds, max_size=200))
def test_following_takes_its_share_and_at_most_one_step_more_at_any_moment(share, batches, steps):
    longest = max([STEP_S, *steps])
    for handling, following in loaded(share, batches, steps):
        assert following * (1 - share) <= handling * share + longest + 1e-6


@given(st.floats(0.05, 0.9), st.lists(seconds, min_size=1, max_size=200))
def test_following_never_starves_while_batches_are_handled(share, batches):
    # The account saves a bounded time, so very long batches earn less.
    _, following = loaded(share, batches, [])[-1]
    assert following >= sum(min(MAX_SAVED_S, busy * share / (1 - share)) for busy in batches) - STEP_S - 1e-6


def test_after_cheap_batches_a_long_step_is_paid_back_before_the_next():
    """The reason for the account: batches of 5 ms earn a step of 0.1 s only once in eighty batches."""
    seen = loaded(0.2, [0.005] * 8000, [])
    handling, following = seen[-1]
    assert following / (handling + following) == pytest.approx(0.2, abs=0.005)
    turns = [before[1] < after[1] for before, after in zip([(0.0, 0.0), *seen], seen, strict=False)]
    assert sum(turns) == pytest.approx(8000 / 80, abs=2)


def test_while_nothing_waits_following_is_free():
    account, now = FollowShare(0.2, 0.0), 0.0
    for _ in range(100):
        assert account.turn(now, waiting=False) is not None
        now += STEP_S
        account.took(now, 0.0)


def test_a_turn_that_records_had_to_wait_for_is_owed_for_as_long_as_they_waited():
    account = FollowShare(0.2, 0.0)
    assert account.turn(0.0, waiting=False) is not None
    account.took(0.1, 0.04)
    assert account.turn(0.1, waiting=True) is None
    assert account.turn(0.25, waiting=False) is None, "0.15 s have earned 0.0375 s"
    assert account.turn(0.27, waiting=False) is not None


def test_a_long_rest_saves_up_little():
    account = FollowShare(0.2, 0.0)
    assert account.turn(3600.0, waiting=True) == MAX_SAVED_S


def test_a_share_of_all_has_no_limit():
    account = FollowShare(1.0, 0.0)
    for now in range(5):
        assert account.turn(float(now), waiting=True) is not None
        account.took(now + 0.9, 5.0)


def spent(step: str) -> float:
    samples = [sample for metric in metrics.STAGE_SECONDS.collect() for sample in metric.samples]
    found = [each.value for each in samples if each.name.endswith("_sum") and each.labels["step"] == step]
    return sum(found)


@pytest.mark.parametrize("handle_s", [0.004, 0.05, 1.5])
def test_the_metrics_of_a_loop_show_the_share(tmp_path: Path, handle_s: float):
    clock = Clock()
    stage = Busy(clock, each_s=handle_s, step_s=STEP_S)
    before = {step: spent(step) for step in ("handle", "follow")}
    compute(stage, LedgerSettings(slot="a", state_dir=tmp_path, batch_records=1), 2000)
    handled, followed = (spent(step) - before[step] for step in ("handle", "follow"))
    assert handled == pytest.approx(2000 * handle_s)
    assert followed / (handled + followed) == pytest.approx(0.2, abs=0.01)
    assert handled + followed == pytest.approx(clock.now), "all of the time is in the metrics"
