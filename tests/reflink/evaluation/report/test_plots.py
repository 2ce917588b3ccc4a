"""Plots are well-formed, keep values within the axes, and contain texts only as text."""

from __future__ import annotations

import re
from base64 import b64decode
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.evaluation.report.charts import around
from reflink.evaluation.report.plots import Axis, Linear, Log, Logit, Point, Row, Series, percent, plain, plot, rows
from tests.profiles import examples

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script>&\"'\x00\u202e $\\frac{"
FRACTIONS = st.floats(0, 1)


def drawing(picture: str) -> ElementTree.Element:
    found = re.fullmatch(r'<img src="data:image/svg\+xml;base64,([\w+/=]+)" alt="[^"]*"/>', picture)
    assert found
    return ElementTree.fromstring(b64decode(found[1]))


def texts(picture: str) -> list[str]:
    return ["".join(each.itertext()) for each in drawing(picture).iter(f"{SVG}text")]


@settings(max_examples=examples(12))
@given(
    st.lists(st.lists(st.tuples(FRACTIONS, FRACTIONS, FRACTIONS), max_size=20), min_size=1, max_size=4),
    st.sampled_from(["line", "dots", "both", "steps"]),
    st.sampled_from([Linear(0, 1, "x", percent), Linear(0.4, 0.6, "x"), Log(0.01, 0.7), Logit(0.001, 0.999, "x")]),
)
def test_any_series_can_be_plotted(lines: list[list[tuple[float, float, float]]], drawn: str, x: Axis):
    series = [
        Series(f"series {number}", [Point(a, b, (min(b, c), max(b, c))) for a, b, c in points], drawn)
        for number, points in enumerate(lines)
    ]
    found = texts(plot(x, Linear(0.3, 0.7, "up", percent), series, "a title", diagonal=True))
    assert {"up", "30%", "70%"} <= set(found)
    assert {each.name for each in series} <= set(found) or len(series) == 1


@settings(max_examples=examples(12))
@given(
    st.lists(st.tuples(st.text(max_size=60), FRACTIONS, st.none() | st.tuples(FRACTIONS, FRACTIONS)), max_size=12),
    st.booleans(),
)
def test_any_rows_can_be_plotted(given_: list[tuple[str, float, tuple[float, float] | None]], bars: bool):
    lines = [Row(label, [(value, interval), None, (value, None)]) for label, value, interval in given_]
    assert {"one", "two", "three", "20%"} <= set(
        texts(rows(Linear(0.2, 0.8, "x", percent), ["one", "two", "three"], lines, "rows", bars=bars))
    )


def test_hostile_text_is_drawn_as_text():
    pictures = (
        plot(Linear(0, 1), Linear(0, 1, HOSTILE), [Series(HOSTILE, [Point(0, 0)], "dots"), Series("b", [])], HOSTILE),
        rows(Linear(0, 1), [HOSTILE, "b"], [Row(HOSTILE, [(0.5, None), (0.2, None)])], HOSTILE),
    )
    for picture in pictures:
        assert not list(drawing(picture).iter(f"{SVG}script"))
        assert any("<script>" in each and "\u202e" not in each for each in texts(picture))


@pytest.mark.parametrize(
    ("axis", "value", "drawn"),
    [(Linear(0.2, 0.8), 0.9, 0.8), (Log(0.01, 1), 0.0, 0.01), (Logit(0.1, 0.9), 1.0, 0.9), (Linear(0, 1), 0.5, 0.5)],
)
def test_a_value_beyond_an_axis_is_drawn_at_its_end(axis: Axis, value: float, drawn: float):
    assert list(axis.within([value])) == [drawn]


def test_equal_figures_give_equal_plots():
    made = [plot(Linear(0, 1), Log(0.1, 1), [Series("a", [Point(0.5, 0.5)])], "t") for _ in range(2)]
    assert made[0] == made[1]


def test_numbers_and_shares_have_no_unnecessary_decimals():
    assert [percent(value) for value in (0.5, 0.99951, 1.0, 0.0)] == ["50%", "99.951%", "100%", "0%"]
    assert [plain(value) for value in (0.0, 12345.5, 0.25, 2.0)] == ["0", "12,345.5", "0.25", "2"]


@given(st.lists(FRACTIONS, max_size=8), st.floats(0.001, 0.5))
def test_bounds_lie_around_all_values(values: list[float], least: float):
    low, high = around(values, least=least)
    assert 0 <= low <= min(values, default=0) <= max(values, default=1) <= high <= 1
    assert high - low >= min(least, 0.5) / 2
