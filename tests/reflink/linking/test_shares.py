"""Shares of absent works by source: estimated with forgetting, bounded in number, and changed in steps only."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.linking.absence import FLOOR, HIGHEST, LOWEST, source_of
from reflink.linking.shares import (
    HALF_LIFE,
    LISTED,
    MIN_OF_ALL,
    MIN_OF_SOURCE,
    MOVE,
    SOURCES,
    STEP,
    STRENGTH,
    Seen,
    Shares,
    Tally,
    stepped,
)
from tests.profiles import examples
from tests.reflink.linking.test_absence import drawn

papers = st.lists(
    st.tuples(st.integers(1000, 1200).map(lambda n: f"doi:10.{n}/x"), st.lists(st.floats(-20, 20), min_size=1, max_size=9)),
    max_size=120,
)


def log_odds(share: float) -> float:
    return math.log(share / (1 - share))


def tally_of(*given_: tuple[str, list[float]]) -> Tally:
    tally = Tally()
    for citing, each in given_:
        tally.add(citing, each)
    return tally


def seen(**counts: tuple[float, float]) -> Tally:
    return Tally(
        {f"10.{name[1:]}": Seen(*pair) for name, pair in counts.items() if name != "rest"}, Seen(*counts.get("rest", (0, 0)))
    )


@given(papers)
def test_the_weight_is_that_of_all_references_with_forgetting(given_: list[tuple[str, list[float]]]) -> None:
    """Also when sources are dropped: the rest has their weight."""
    tally = tally_of(*given_)
    n = sum(len(each) for _, each in given_)
    plain = sum(0.5 ** (age / HALF_LIFE) for age in range(n))
    assert tally.all().weight == pytest.approx(plain)
    assert len(tally.sources) <= SOURCES
    assert 0 <= tally.all().absent <= tally.all().weight + 1e-9
    assert LOWEST <= tally.share_of() <= HIGHEST


def test_a_reference_counts_half_after_the_half_life() -> None:
    tally = tally_of(("doi:10.1000/x", [-math.inf]))
    before = tally.sources["10.1000"].absent
    tally.add("doi:10.2000/x", [math.inf] * HALF_LIFE)
    assert tally.sources["10.1000"].absent == pytest.approx(before / 2)


def test_a_frequent_source_displaces_rare_ones() -> None:
    tally = tally_of(*((f"doi:10.{1000 + n}/x", [math.inf]) for n in range(SOURCES)))
    for n in range(300):
        tally.add("doi:10.7777/x", [-math.inf] * 3)
        tally.add(f"doi:10.{2000 + n}/x", [math.inf])
    assert tally.sources["10.7777"].weight > 800
    assert tally.share_of("10.7777") > 0.9
    assert tally.rest.weight > 250
    assert tally.share_of("10.1000") == pytest.approx(tally.all().share(1.0, 0.5))


@given(papers)
def test_a_tally_round_trips_through_json(given_: list[tuple[str, list[float]]]) -> None:
    data = tally_of(*given_).to_dict()
    assert Tally.from_dict(data).to_dict() == data


@given(papers, papers)
def test_tallies_of_parts_of_a_stream_add_up(one: list[tuple[str, list[float]]], other: list[tuple[str, list[float]]]) -> None:
    whole = Tally()
    whole.merge([tally_of(*one), tally_of(*other)])
    assert whole.all().weight == pytest.approx(tally_of(*one).all().weight + tally_of(*other).all().weight)
    names = {source_of(citing) for citing, _ in one + other}
    assert {*whole.sources} <= names


@settings(max_examples=examples(30))
@given(st.sampled_from([0.05, 0.2, 0.5, 0.8, 0.95]), st.integers(0, 2**32))
def test_a_known_share_is_learnt_from_a_stream(absent: float, seed: int) -> None:
    given_ = drawn(4000, absent, seed, sharp=5.0)
    tally = tally_of(*(("doi:10.1000/x", part.tolist()) for part in np.array_split(given_, 100)))
    assert abs(tally.share_of() - absent) < 0.05
    assert abs(log_odds(Shares().after(tally).overall) - log_odds(max(tally.share_of(), FLOOR))) <= MOVE


def test_a_share_that_changes_is_followed() -> None:
    tally = Tally()
    for absent in (0.9, 0.2):
        for part in np.array_split(drawn(4 * HALF_LIFE, absent, 7, sharp=6.0), 400):
            tally.add("doi:10.1000/x", part.tolist())
        assert abs(tally.share_of() - absent) < 0.06


def test_few_references_of_a_source_leave_it_near_the_overall_share() -> None:
    tally = seen(s1=(10_000, 9000), s2=(10, 0))
    overall = tally.share_of()
    assert tally.share_of("10.2") == pytest.approx(STRENGTH * overall / (STRENGTH + 10))
    assert abs(tally.share_of("10.1") - 0.9) < 0.002
    assert tally.share_of("10.3") == overall


def test_nothing_changes_before_the_minimum_of_references() -> None:
    few = seen(s1=(MIN_OF_ALL - 1, MIN_OF_ALL - 1))
    assert Shares().after(few) == Shares()
    enough = Shares().after(seen(s1=(MIN_OF_ALL, MIN_OF_ALL)))
    assert enough.overall > 0.95
    assert [*enough.sources] == ["10.1"]
    small = Shares().after(seen(s1=(MIN_OF_ALL, 0.0), s2=(MIN_OF_SOURCE - 1, 99)))
    assert small.overall == FLOOR, "never less than one half"
    assert [*small.sources] == ["10.1"]


def test_a_listed_source_stays_until_it_has_few_references() -> None:
    shares = Shares().after(seen(s1=(2000, 200), s2=(MIN_OF_SOURCE, 290)))
    assert shares.sources["10.2"] > shares.overall
    assert "10.2" in shares.after(seen(s1=(2000, 200), s2=(MIN_OF_SOURCE / 2, 145))).sources
    assert "10.2" not in shares.after(seen(s1=(2000, 200), s2=(MIN_OF_SOURCE / 2 - 1, 145))).sources


def test_the_number_of_listed_sources_is_bounded_and_the_largest_are_listed() -> None:
    tally = Tally({f"10.{1000 + n}": Seen(400.0 + n, 100.0) for n in range(40)})
    shares = Shares().after(tally)
    assert [*shares.sources] == [f"10.{1000 + n}" for n in range(40 - LISTED, 40)]
    assert shares.of("doi:10.1039/x") == shares.sources["10.1039"]
    assert shares.of("doi:10.1000/x") == shares.of("nobody") == shares.overall
    tally.sources["10.1000"].weight = 450.0
    assert shares.after(tally).sources.keys() == shares.sources.keys(), "a listed source counts twice"
    tally.sources["10.1000"].weight = 1000.0
    assert "10.1000" in shares.after(tally).sources


@given(st.floats(0, 1))
def test_shares_in_use_are_steps(share: float) -> None:
    step = stepped(share)
    assert stepped(step) == step
    assert abs(log_odds(step) / STEP - round(log_odds(step) / STEP)) < 0.02
    assert step >= FLOOR
    assert abs(log_odds(step) - log_odds(min(max(share, FLOOR), HIGHEST))) <= STEP / 2 + 0.01


@given(st.lists(st.floats(-4, 4), min_size=2, max_size=30))
def test_a_share_changes_only_if_the_estimate_moved_clearly(estimates: list[float]) -> None:
    shares = Shares()
    for each in estimates:
        before = shares.overall
        estimate = 1 / (1 + math.exp(-each))
        tally = seen(s1=(1e6, 1e6 * estimate))
        shares = shares.after(tally)
        near = abs(log_odds(max(tally.share_of(), FLOOR)) - log_odds(before)) <= MOVE
        assert shares.overall == (before if near else stepped(tally.share_of()))
        assert shares.after(tally) == shares


def test_an_estimate_between_two_steps_does_not_change_the_share_back_and_forth() -> None:
    rng = random.Random(3)
    shares, changes = Shares(), 0
    for _ in range(1000):
        estimate = 1 / (1 + math.exp(-(STEP / 2 + rng.uniform(-0.1, 0.1))))
        after = shares.after(seen(s1=(1e6, 1e6 * estimate)))
        changes += after.overall != shares.overall
        shares = after
    assert changes <= 1
