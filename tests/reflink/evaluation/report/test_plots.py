"""Pictures: well-formed, all within the frame, nothing cut, marks told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.evaluation.report.axes import Linear, Log, Logit, percent
from reflink.evaluation.report.plots import WIDTH, Point, Row, Series, plot, rows

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script>&\"'\x00\u202e"
FRACTIONS = st.floats(0, 1)


def _places(picture: ElementTree.Element) -> Iterator[tuple[float, float]]:
    """Every place that something is drawn at."""
    for element in picture.iter():
        at = element.attrib
        for x, y in (("x", "y"), ("cx", "cy"), ("x1", "y1"), ("x2", "y2")):
            if x in at:
                yield float(at[x]), float(at[y])
        for pair in at.get("points", "").split():
            x, y = pair.split(",")
            yield float(x), float(y)


def _read(picture: str) -> tuple[ElementTree.Element, float]:
    parsed = ElementTree.fromstring(picture)
    box = parsed.attrib["viewBox"].split()
    assert (box[:2], float(box[2])) == (["0", "0"], WIDTH)
    return parsed, float(box[3])


def _is_framed(picture: str) -> ElementTree.Element:
    parsed, height = _read(picture)
    for x, y in _places(parsed):
        assert 0 <= x <= WIDTH
        assert 0 <= y <= height
    for text in parsed.iter(f"{SVG}text"):
        wide, x = 5.5 * len(text.text or ""), float(text.attrib["x"])
        kind = text.attrib.get("class", "")
        if "transform" in text.attrib:
            continue
        begin = x - wide if "end" in kind else x - wide / 2 if "middle" in kind else x
        assert begin >= -1
        assert begin + wide <= WIDTH + 1
    return parsed


@settings(deadline=None)
@given(
    st.lists(st.lists(st.tuples(FRACTIONS, FRACTIONS, FRACTIONS), max_size=20), min_size=1, max_size=4),
    st.sampled_from(["line", "dots", "both", "steps"]),
    st.sampled_from([Linear(0, 1, "x", percent), Linear(0.4, 0.6, "x"), Log(0.01, 0.7), Logit(0.001, 0.999, "x")]),
)
def test_every_point_is_in_the_frame(
    lines: list[list[tuple[float, float, float]]], drawn: str, x: Linear | Log | Logit
) -> None:
    series = [
        Series(f"series {number}", [Point(a, b, (min(b, c), max(b, c)), "note") for a, b, c in points], drawn)
        for number, points in enumerate(lines)
    ]
    parsed = _is_framed(plot(x, Linear(0.3, 0.7, "y", percent), series, "a title", diagonal=True))
    marks = [each for each in parsed.iter() if each.attrib.get("class", "").startswith("mark")]
    named = len(lines) if len(lines) > 1 else 0
    assert len(marks) == named + (sum(map(len, lines)) if drawn in ("dots", "both") else 0)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=60), FRACTIONS, st.none() | st.tuples(FRACTIONS, FRACTIONS)), max_size=12),
    st.booleans(),
)
def test_rows_are_in_the_frame(given_: list[tuple[str, float, tuple[float, float] | None]], bars: bool) -> None:
    lines = [Row(label, [(value, interval), None, (value, None)]) for label, value, interval in given_]
    parsed = _is_framed(rows(Linear(0.2, 0.8, "x", percent), ["one", "two", "three"], lines, "rows", bars=bars))
    assert len(list(parsed.iter(f"{SVG}rect"))) == (3 + 2 * len(lines) if bars else 0)


def test_text_is_text() -> None:
    pictures = (
        plot(Linear(0, 1), Linear(0, 1), [Series(HOSTILE, [Point(0, 0, note=HOSTILE)], "dots"), Series("b", [])], HOSTILE),
        rows(Linear(0, 1), [HOSTILE, ""], [Row(HOSTILE, [(0.5, None), (0.2, None)])], HOSTILE),
    )
    for picture in pictures:
        parsed, _ = _read(picture)
        assert not list(parsed.iter(f"{SVG}script"))
        assert "<script" not in picture
        assert "\u202e" not in picture


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_ticks_texts_do_not_overlap(count: int) -> None:
    picture = plot(Linear(0, 10.0**count, format=lambda value: f"{value:,.2f}"), Linear(0, 1), [], "wide ticks")
    parsed, _ = _read(picture)
    ticks = sorted(
        (float(text.attrib["x"]), len("".join(text.itertext())))
        for text in parsed.iter(f"{SVG}text")
        if "middle" in text.attrib["class"]
    )
    assert ticks
    for (x, letters), (after, more) in pairwise(ticks):
        assert x + 3 * letters < after - 3 * more


def test_a_legend_that_is_too_wide_goes_on_in_the_next_line() -> None:
    series = [Series(f"a series with a long name {number}", []) for number in range(5)]
    picture = plot(Linear(0, 1), Linear(0, 1), series, "legend")
    parsed, _ = _read(picture)
    names = [text for text in parsed.iter(f"{SVG}text") if "long name" in "".join(text.itertext())]
    assert len({text.attrib["y"] for text in names}) > 1
    assert all(float(text.attrib["x"]) + 5.5 * len("".join(text.itertext())) < WIDTH for text in names)
    assert len(set(re.findall(r'class="mark s(\d)"', picture))) == 5
