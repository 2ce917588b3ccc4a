"""Axes: order kept, ends at the ends, ticks within and few."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.evaluation.report.axes import Axis, Linear, Log, Logit, around, percent, plain

POSITIVE = st.floats(1e-6, 1e6)
INSIDE = st.floats(0.0001, 0.9999)


@st.composite
def _axes(draw: st.DrawFn) -> Axis:
    kind = draw(st.sampled_from([Linear, Log, Logit]))
    if kind is Linear:
        low = draw(st.floats(-1e5, 1e5))
        return Linear(low, low + draw(POSITIVE))
    if kind is Log:
        low = draw(POSITIVE)
        return Log(low, low * draw(st.floats(1.5, 1e6)))
    low, high = sorted((draw(st.floats(0.0001, 0.4)), draw(st.floats(0.6, 0.9999))))
    return Logit(low, high)


@settings(deadline=None)
@given(_axes(), st.lists(st.floats(-1e7, 1e7), min_size=2))
def test_places_are_within_and_keep_the_order(axis: Axis, values: list[float]) -> None:
    places = [axis.place(value) for value in sorted(values)]
    assert all(0 <= place <= 1 for place in places)
    assert places == sorted(places)
    assert axis.place(axis.low) == pytest.approx(0, abs=1e-9)
    assert axis.place(axis.high) == pytest.approx(1, abs=1e-9)


@settings(deadline=None)
@given(_axes())
def test_ticks_are_within_the_axis_ascending_and_not_many(axis: Axis) -> None:
    ticks = axis.ticks()
    width = axis.high - axis.low
    assert all(axis.low - 1e-6 * width <= tick <= axis.high + 1e-6 * width for tick in ticks)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 9
    if isinstance(axis, Linear | Log):
        assert len(ticks) >= 2


def test_round_numbers() -> None:
    assert Linear(0, 1).ticks() == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert Linear(0.985, 1).ticks() == [0.985, 0.99, 0.995, 1]
    assert Log(0.5, 20_000).ticks() == [1, 10, 100, 1000, 10_000]
    assert Log(0.007, 0.031).ticks() == [0.01, 0.02]
    assert Log(0.021, 0.034).ticks() == [0.025, 0.03]
    assert Logit(0.01, 0.999).ticks() == [0.01, 0.1, 0.5, 0.9, 0.99, 0.999]
    assert (percent(0.5), percent(0.9995), percent(0.00001), plain(12500), plain(0.25)) == (
        "50%",
        "99.95%",
        "0.001%",
        "12,500",
        "0.25",
    )


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), max_size=9))
def test_bounds_hold_all_values_and_are_apart(values: list[float]) -> None:
    low, high = around(values)
    assert 0 <= low < high <= 1
    assert all(low <= value <= high for value in values)
