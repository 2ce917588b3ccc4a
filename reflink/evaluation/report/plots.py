"""Small plots as inline SVG: lines, dots with intervals, steps, and rows of labelled dots or bars.

Colours and fonts come from the page's style sheet, so that one picture serves light and dark. A series is told apart by its
colour and by its mark. Every point is inside the frame: what lies beyond an axis is drawn at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from reflink.evaluation.report.axes import Axis
from reflink.evaluation.report.markup import Markup, tag

WIDTH: Final = 480
HEIGHT: Final = 300
#: About the width of a letter, and of a line of text, in the font of the style sheet.
_LETTER: Final = 6.3
_LINE: Final = 16
_ROW: Final = 22
_LONGEST: Final = 30


@dataclass(frozen=True)
class Point:
    """``interval``: of y, or in rows of x. ``note``: shown when pointed at."""

    x: float
    y: float
    interval: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Series:
    """Points in order. ``drawn``: ``line``, ``dots``, ``both`` or ``steps`` (x: where a step begins; the last only ends)."""

    name: str
    points: Sequence[Point]
    drawn: str = "line"
    dashed: bool = False


@dataclass(frozen=True)
class Row:
    """One line of a chart of rows: a value by series (None: none), each with an interval or None."""

    label: str
    values: Sequence[tuple[float, tuple[float, float] | None] | None]


def _legend(names: Sequence[str], dashed: Sequence[bool] = (), *, bars: bool = False) -> tuple[list[Markup], int]:
    """Marks and names from the top left, and the height they take."""
    parts, x, line = [], 8.0, 0
    for number, name in enumerate(names):
        wide = 24 + _LETTER * len(name) + 12
        if x > 8 and x + wide > WIDTH:
            x, line = 8.0, line + 1
        y = 12 + _LINE * line
        if bars:
            parts.append(tag("rect", x=x, y=y - 5, width=18, height=10, class_=f"bar s{number}"))
        else:
            dashes = "5 4" if dashed and dashed[number] else None
            parts.append(tag("line", x1=x, x2=x + 18, y1=y, y2=y, class_=f"line s{number}", stroke_dasharray=dashes))
            parts.append(_mark(x + 9, y, number))
        parts.append(tag("text", name, x=x + 24, y=y + 4))
        x += wide
    return parts, 12 + _LINE * (line + 1) if names else 8


def _mark(x: float, y: float, number: int, note: str = "") -> Markup:
    """A circle, diamond, square or triangle."""
    x, y = round(x, 2), round(y, 2)
    title = tag("title", note) if note else ()
    shape = number % 4
    if shape == 0:
        return tag("circle", title, cx=x, cy=y, r=3.5, class_=f"mark s{number}")
    r = 4.5
    corners = (
        ((x, y - r), (x + r, y), (x, y + r), (x - r, y)),
        ((x - 3.2, y - 3.2), (x + 3.2, y - 3.2), (x + 3.2, y + 3.2), (x - 3.2, y + 3.2)),
        ((x, y - r), (x + r, y + 3.5), (x - r, y + 3.5)),
    )[shape - 1]
    return tag("polygon", title, points=" ".join(f"{a:g},{b:g}" for a, b in corners), class_=f"mark s{number}")


def plot(x: Axis, y: Axis, series: Sequence[Series], title: str, *, diagonal: bool = False) -> Markup:
    """Series over two axes. ``diagonal``: also the line on which x and y are equal, for axes that are alike."""
    named = [one.name for one in series] if len(series) > 1 else []
    legend, top = _legend(named, [one.dashed for one in series])
    left = 14 + _LETTER * max(len(y.format(tick)) for tick in y.ticks()) + (_LINE if y.label else 0)
    right, bottom = WIDTH - 24.0, HEIGHT - (44 if x.label else 26)
    top += 8

    def across(value: float) -> float:
        return round(left + (right - left) * x.place(value), 2)

    def up(value: float) -> float:
        return round(bottom - (bottom - top) * y.place(value), 2)

    parts: list[Markup] = [*legend]
    for tick in y.ticks():
        parts.append(tag("line", x1=left, x2=right, y1=up(tick), y2=up(tick), class_="grid"))
        parts.append(tag("text", y.format(tick), x=left - 6, y=up(tick) + 4, class_="end"))
    for tick in _apart(x, across):
        parts.append(tag("line", x1=across(tick), x2=across(tick), y1=top, y2=bottom, class_="grid"))
        parts.append(tag("text", x.format(tick), x=across(tick), y=bottom + 16, class_="middle"))
    if x.label:
        parts.append(tag("text", x.label, x=(left + right) / 2, y=HEIGHT - 8, class_="middle label"))
    if y.label:
        at = (top + bottom) / 2
        parts.append(tag("text", y.label, x=12, y=at, class_="middle label", transform=f"rotate(-90 12 {at:g})"))
    if diagonal:
        parts.append(tag("line", x1=left, y1=bottom, x2=right, y2=top, class_="even"))
    for number, one in enumerate(series):
        places = [(across(point.x), up(point.y)) for point in one.points]
        if one.drawn != "dots" and places:
            drawn = _steps(places) if one.drawn == "steps" else places
            corners = " ".join(f"{a:g},{b:g}" for a, b in drawn)
            parts.append(
                tag("polyline", points=corners, class_=f"line s{number}", stroke_dasharray="5 4" if one.dashed else None)
            )
        if one.drawn in ("dots", "both"):
            for point, (at_x, at_y) in zip(one.points, places, strict=True):
                if point.interval:
                    low, high = map(up, point.interval)
                    parts.append(tag("line", x1=at_x, x2=at_x, y1=low, y2=high, class_=f"line s{number}"))
                parts.append(_mark(at_x, at_y, number, point.note))
    return _picture(parts, HEIGHT, title)


def _apart(x: Axis, across: Callable[[float], float]) -> list[float]:
    """The ticks that have room for their text."""
    kept: list[float] = []
    end = -1.0
    for tick in x.ticks():
        at, half = across(tick), _LETTER * len(x.format(tick)) / 2
        if at - half > end + 12:
            kept.append(tick)
            end = at + half
    return kept


def _steps(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    drawn = [places[0]]
    for (_, before), (at, y) in pairwise(places):
        drawn += [(at, before), (at, y)]
    return drawn


def rows(x: Axis, names: Sequence[str], lines: Sequence[Row], title: str, *, bars: bool = False) -> Markup:
    """A line for each row: dots with their intervals, or with ``bars`` bars one after the other from the left end."""
    named = list(names) if len(names) > 1 else []
    legend, top = _legend(named, bars=bars)
    labels = [_cut(line.label) for line in lines]
    left = max(30.0, 12 + _LETTER * max([len(label) for label in labels], default=0))
    right = WIDTH - 24.0
    # Intervals of several series would hide each other on one line.
    spread = 0 if bars or not any(value and value[1] for line in lines for value in line.values[1:]) else 7
    row = _ROW + spread * (len(names) - 1)
    top += 4
    bottom = top + row * len(lines)

    def across(value: float) -> float:
        return round(left + (right - left) * x.place(value), 2)

    parts: list[Markup] = [*legend]
    for tick in _apart(x, across):
        parts.append(tag("line", x1=across(tick), x2=across(tick), y1=top, y2=bottom, class_="grid"))
        parts.append(tag("text", x.format(tick), x=across(tick), y=bottom + 16, class_="middle"))
    if x.label:
        parts.append(tag("text", x.label, x=(left + right) / 2, y=bottom + 34, class_="middle label"))
    for number, (line, label) in enumerate(zip(lines, labels, strict=True)):
        y = top + row * (number + 0.5)
        parts.append(tag("text", label, tag("title", line.label), x=left - 8, y=y + 4, class_="end"))
        end = left
        for which, value in enumerate(line.values):
            if value is None:
                continue
            said = f"{line.label}: {names[which]} {x.format(value[0])}"
            if bars:
                wide = max(1.0, across(value[0]) - left)
                parts.append(
                    tag(
                        "rect",
                        tag("title", said),
                        x=end,
                        y=y - 6,
                        width=min(wide, right - end),
                        height=12,
                        class_=f"bar s{which}",
                    )
                )
                end = min(right, end + wide)
                continue
            at = y + spread * (which - (len(names) - 1) / 2)
            if value[1]:
                low, high = map(across, value[1])
                parts.append(tag("line", x1=low, x2=high, y1=at, y2=at, class_=f"line s{which}"))
            parts.append(_mark(across(value[0]), at, which, said))
    return _picture(parts, int(bottom + (44 if x.label else 26)), title)


def _cut(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _picture(parts: Sequence[Markup], height: int, title: str) -> Markup:
    return tag(
        "svg", tag("title", title), parts, viewBox=f"0 0 {WIDTH} {height}", role="img", xmlns="http://www.w3.org/2000/svg"
    )
