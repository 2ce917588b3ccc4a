"""Small plots, drawn with matplotlib: lines, dots with intervals, steps, and rows of labelled dots or bars.

Each picture is an image element with the SVG as its address, so its texts cannot become markup of the page. A value beyond the
end of an axis is drawn at that end.
"""

from __future__ import annotations

import io
import warnings
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from reflink.evaluation.report.markup import Markup, shown, tag

Format = Callable[[float], str]
Interval = tuple[float, float] | None

_INCHES: Final = (6.0, 3.75)
_ROW_INCHES: Final = 0.3
#: Maximum characters of the label of a row.
_LONGEST: Final = 30
_COLOURS: Final = ("#0b62c4", "#c2410c", "#0f766e", "#7e3fb5")
_MARKS: Final = ("o", "D", "s", "^")
_LOGIT_TICKS: Final = (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
_STYLE: Final[dict[str, Any]] = {
    "font.size": 9.5, "axes.grid": True, "grid.color": "#d9dfe7", "axes.edgecolor": "#5a6675", "axes.axisbelow": True,
    "svg.fonttype": "none", "svg.hashsalt": "reflink", "text.parse_math": False, "figure.constrained_layout.use": True,
}  # fmt: skip


def percent(value: float) -> str:
    """Return a fraction in percent, with no more decimals than necessary."""
    return f"{100 * value:.4f}".rstrip("0").rstrip(".") + "%"


def plain(value: float) -> str:
    """Return a number with separated thousands and no more decimals than necessary."""
    return f"{value:,.6f}".rstrip("0").rstrip(".") if abs(value) >= 1 or not value else f"{value:.6g}"


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``. ``scale``: linear; log (``low`` above 0); or logit, the log-odds, within (0, 1)."""

    scale: str
    low: float
    high: float
    label: str = ""
    format: Format = plain

    def within(self, values: Sequence[float]) -> Any:
        """Return the values, each at the end of the axis if it is beyond it."""
        return np.clip(values, self.low, self.high)

    def apply(self, axes: Any, name: str) -> None:
        """Set up the axis ``name``, x or y, of matplotlib's ``axes``."""
        axes.set(**{f"{name}scale": self.scale, f"{name}lim": (self.low, self.high), f"{name}label": shown(self.label)})
        axis = getattr(axes, f"{name}axis")
        axis.set_major_formatter(FuncFormatter(lambda value, _: self.format(value)))
        if self.scale == "logit":
            axis.set_major_locator(FixedLocator([tick for tick in _LOGIT_TICKS if self.low <= tick <= self.high]))
        elif self.scale == "log" and self.high < 100 * self.low:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(NullLocator())


Linear = partial(Axis, "linear")
Log = partial(Axis, "log")
Logit = partial(Axis, "logit", format=percent)


@dataclass(frozen=True)
class Point:
    """A point of a series. ``interval``: of y."""

    x: float
    y: float
    interval: Interval = None


@dataclass(frozen=True)
class Series:
    """Points in order. ``drawn``: ``line``, ``dots``, ``both`` or ``steps`` (x: start of a step; the last x: only an end)."""

    name: str
    points: Sequence[Point]
    drawn: str = "line"
    dashed: bool = False


@dataclass(frozen=True)
class Row:
    """One line of a chart of rows: a value by series (None: none), each with an interval or None."""

    label: str
    values: Sequence[tuple[float, Interval] | None]


def plot(x: Axis, y: Axis, series: Sequence[Series], title: str, *, diagonal: bool = False) -> Markup:
    """Return a plot of series over two axes. ``diagonal``: also draw the line x = y, for equal axes."""
    return _image(plot_svg(x, y, series, title, diagonal=diagonal), title)


def plot_svg(x: Axis, y: Axis, series: Sequence[Series], title: str, *, diagonal: bool = False) -> bytes:
    """Return the same plot as an SVG file."""
    with rc_context(_STYLE):
        figure, axes = _axes(_INCHES, (x, y))
        if diagonal:
            axes.plot([x.low, x.high], [x.low, x.high], "--", color="#5a6675", linewidth=1)
        for number, line in enumerate(series):
            style = {"color": _COLOURS[number % 4], "linestyle": "--" if line.dashed else "-", "label": shown(line.name)}
            across, up = (axis.within([getattr(point, name) for point in line.points]) for axis, name in ((x, "x"), (y, "y")))
            if line.drawn == "steps":
                axes.plot(across, up, drawstyle="steps-post", **style)
                continue
            if line.drawn == "dots":
                style["linestyle"] = ""
            marks = {} if line.drawn == "line" else {"marker": _MARKS[number % 4], "markersize": 4.5}
            axes.plot(across, up, clip_on=False, **style, **marks)
            for at, point in zip(across, line.points, strict=True):
                if marks and point.interval:
                    axes.plot([at, at], y.within(point.interval), color=_COLOURS[number % 4], linewidth=1.2)
        _legend(axes, len(series))
        return _svg(figure, title)


def rows(x: Axis, names: Sequence[str], lines: Sequence[Row], title: str, *, bars: bool = False) -> Markup:
    """Return a chart with a line for each row: dots with their intervals or, with ``bars``, adjacent bars from the left end."""
    with rc_context({**_STYLE, "axes.grid.axis": "x"}):
        figure, axes = _axes((_INCHES[0], 1.2 + _ROW_INCHES * max(1, len(lines))), (x,))
        axes.set_yticks(range(len(lines)), [_cut(shown(line.label)) for line in lines])
        axes.set_ylim(max(1, len(lines)) - 0.5, -0.5)
        ends = np.full(len(lines), float(x.low))
        for number, name in enumerate(names):
            found = [(at, *value) for at, line in enumerate(lines) if (value := line.values[number]) is not None]
            at = np.array([each[0] for each in found], dtype=int)
            values = x.within([each[1] for each in found])
            colour, label = _COLOURS[number % 4], shown(name)
            if bars:
                axes.barh(at, values - x.low, left=ends[at], height=0.6, color=colour, label=label)
                ends[at] += values - x.low
                continue
            places = at + 0.22 * (number - (len(names) - 1) / 2)
            axes.plot(values, places, _MARKS[number % 4], color=colour, label=label, markersize=4.5, clip_on=False)
            for place, (_, _, interval) in zip(places, found, strict=True):
                if interval:
                    axes.plot(x.within(interval), [place, place], color=colour, linewidth=1.2)
        _legend(axes, len(names))
        return _image(_svg(figure, title), title)


def _axes(inches: tuple[float, float], given: Sequence[Axis]) -> tuple[Figure, Any]:
    figure = Figure(figsize=inches)
    axes = figure.add_subplot()
    for name, axis in zip("xy", given, strict=False):
        axis.apply(axes, name)
    return figure, axes


def _cut(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _legend(axes: Any, count: int) -> None:
    if count > 1:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def _svg(figure: Figure, title: str) -> bytes:
    written = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # only widths are measured here; the browser has the fonts
        FigureCanvasSVG(figure).print_svg(written, metadata={"Date": None, "Title": shown(title)})
    return written.getvalue()


def _image(svg: bytes, title: str) -> Markup:
    return tag("img", src=f"data:image/svg+xml;base64,{b64encode(svg).decode()}", alt=title)
