"""One picture of a dashboard: its panels on their grid, drawn by matplotlib from the series that were fetched."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import matplotlib

matplotlib.use("svg")
import numpy as np
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from helm.dashboards.notation import written
from helm.dashboards.pictures import Picture, Series

_WIDTH_IN: Final = 16.0
#: Of one column and of one row of Grafana's grid.
_COLUMN_IN: Final = _WIDTH_IN / 24
_ROW_IN: Final = 0.42
#: Around what is drawn in a panel: left (with the axis' numbers), right, top (with the title), bottom (with the time).
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.62, 0.25, 0.42, 0.3
_LEGEND_IN: Final = 0.17
_LEGEND_LINES: Final = 3
_CHARACTER_IN: Final = 0.075
_OUTLINE: Final = re.compile(r' d="[^"]*"')
_FRACTION: Final = re.compile(r"(\.\d)\d+")
_INK, _FAINT, _EDGE = "#24292f", "#6e7781", "#d0d7de"
_NAMED: Final = {
    "green": "#2f9e44",
    "yellow": "#e0a800",
    "orange": "#e8750a",
    "red": "#d9363e",
    "blue": "#3274d9",
    "transparent": "none",
}
#: Eleven that can be told from one another, also side by side.
_PALETTE: Final = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#e08214", "#5e4fa2", "#1b9e77", "#8c510a",
)  # fmt: skip


def draw(title: str, pictures: Sequence[Picture], seconds: float, path: Path) -> None:
    """Writes an SVG. ``seconds`` is how long the time shown is."""
    height = max(each.panel["gridPos"].get("y", 0) + each.panel["gridPos"]["h"] for each in pictures) * _ROW_IN + 0.5
    matplotlib.rcParams.update({"font.size": 8, "svg.fonttype": "none", "svg.hashsalt": "reflink", "text.color": _INK})
    matplotlib.rcParams.update({"axes.edgecolor": _EDGE, "xtick.color": _FAINT, "ytick.color": _FAINT})
    figure = pyplot.figure(figsize=(_WIDTH_IN, height))
    figure.text(0.15 / _WIDTH_IN, 1 - 0.3 / height, title, fontsize=14, weight="bold")
    for each in pictures:
        _Frame(figure, height, each).draw(seconds)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, facecolor="white", dpi=100)
    pyplot.close(figure)
    # A tenth of a point is finer than anybody sees, and half the file.
    path.write_text(_OUTLINE.sub(lambda found: " " + _FRACTION.sub(r"\1", " ".join(found[0].split())), path.read_text()))


class _Frame:
    """A panel's place in the figure, in inches from the left and from the top."""

    def __init__(self, figure: Any, height: float, picture: Picture) -> None:
        self.figure, self.whole, self.picture, self.panel = figure, height, picture, picture.panel
        at = self.panel["gridPos"]
        self.x, self.y = at.get("x", 0) * _COLUMN_IN, at.get("y", 0) * _ROW_IN + 0.45
        self.w, self.h = at["w"] * _COLUMN_IN, at["h"] * _ROW_IN
        defaults = self.panel.get("fieldConfig", {}).get("defaults", {})
        self.unit, self.decimals = defaults.get("unit", ""), defaults.get("decimals")
        self.steps: list[dict[str, Any]] = defaults.get("thresholds", {}).get("steps", [])
        self.nothing = defaults.get("noValue", "no data")
        self.custom, self.most = defaults.get("custom", {}), defaults.get("max")

    def draw(self, seconds: float) -> None:
        kind = self.panel["type"]
        if kind == "row":
            self.text(0.15, self.h * 0.7, self.panel["title"], fontsize=10.5, weight="bold")
            return
        edge = pyplot.Rectangle(
            *self.corner(0.05, 0.05, self.w - 0.1, self.h - 0.1), fill=False, edgecolor=_EDGE, transform=self.figure.transFigure
        )
        self.figure.add_artist(edge)
        self.text(0.15, 0.27, self.panel["title"], fontsize=9, weight="bold")
        drawn: dict[str, Callable[[float], None]] = {
            "stat": self.figure_of,
            "timeseries": self.curves,
            "bargauge": self.bars,
            "heatmap": self.heatmap,
            "state-timeline": self.states,
        }
        if kind != "stat" and not self.picture.series:
            self.text(self.w / 2, self.h / 2, "no data", fontsize=9, color=_FAINT, ha="center")
            return
        drawn[kind](seconds)

    def corner(self, x: float, y: float, w: float, h: float) -> tuple[Any, float, float]:
        """A rectangle for matplotlib: from the panel's inches, y downwards, to the figure's shares, y upwards."""
        left, bottom = (self.x + x) / _WIDTH_IN, 1 - (self.y + y + h) / self.whole
        return (left, bottom), w / _WIDTH_IN, h / self.whole

    def text(self, x: float, y: float, words: str, **how: Any) -> None:
        self.figure.text((self.x + x) / _WIDTH_IN, 1 - (self.y + y) / self.whole, words, **how)

    def axes(self, left: float = _LEFT, top: float = _TOP, bottom: float = _BOTTOM, right: float = _RIGHT) -> Any:
        (x, y), w, h = self.corner(left, top, self.w - left - right, self.h - top - bottom)
        axes = self.figure.add_axes((x, y, w, h))
        axes.tick_params(length=0, labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        return axes

    def timed(self, axes: Any, seconds: float) -> None:
        axes.set_xlim(0, seconds)
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 3, 6, 10]))
        axes.set_xticks(list(range(0, int(seconds) + 1, 60))[:: max(1, round(seconds / 360))])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 60:g} min"))

    def scaled(self, axes: Any) -> None:
        top = axes.get_ylim()[1]
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 1.5, 2, 2.5, 3, 5, 6, 10]))
        # Minutes have sixty seconds, and a KiB is a power of two.
        if self.unit == "s" and top >= 120:
            axes.yaxis.set_major_locator(MultipleLocator(60 * math.ceil(top / 240)))
        elif self.unit == "bytes" and top >= 1024:
            axes.yaxis.set_major_locator(MultipleLocator(2 ** round(math.log2(top / 4))))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value, self.unit)))
        axes.grid(axis="y", color=_EDGE, linewidth=0.5)

    def legend(self, entries: Sequence[tuple[str, str]]) -> float:
        """Writes names beside their colours below the panel's axes; returns the height it took."""
        room = self.w - 0.4
        lines: list[list[tuple[float, str, str]]] = [[]]
        used = 0.0
        for name, colour in entries:
            width = 0.3 + len(name) * _CHARACTER_IN
            if used + width > room and lines[-1]:
                lines.append([])
                used = 0.0
            lines[-1].append((used, name, colour))
            used += width
        left_out = sum(map(len, lines[_LEGEND_LINES:]))
        shown = lines[:_LEGEND_LINES]
        for number, line in enumerate(shown):
            y = self.h - 0.16 - (len(shown) - 1 - number) * _LEGEND_IN
            for x, name, colour in line:
                mark = pyplot.Rectangle(
                    *self.corner(0.2 + x, y - 0.06, 0.12, 0.05), facecolor=colour, transform=self.figure.transFigure
                )
                self.figure.add_artist(mark)
                self.text(0.37 + x, y, name, fontsize=7, color=_INK)
        if left_out:
            self.text(self.w - 0.15, 0.27, f"{left_out} more not named", fontsize=7, color=_FAINT, ha="right")
        return len(shown) * _LEGEND_IN

    def colours(self) -> list[tuple[Series, str]]:
        # By name, so that what a colour means does not change with the data.
        ordered = sorted(self.picture.series, key=lambda each: each.name)
        return [(each, _PALETTE[number % len(_PALETTE)]) for number, each in enumerate(ordered)]

    def figure_of(self, seconds: float) -> None:
        found = [value for each in self.picture.series for value in each.values[-1:] if math.isfinite(value)]
        value = found[-1] if found else 0.0
        words = written(value, self.unit, self.decimals) if found else self.nothing
        colour = next(
            (each["color"] for each in reversed(self.steps) if each.get("value") is None or value >= each["value"]), ""
        )
        ink = _NAMED.get(colour, _INK)
        for each in self.picture.series:
            axes = self.axes(0.1, self.h * 0.62, 0.1, 0.1)
            axes.set_axis_off()
            axes.fill_between(each.seconds, np.nan_to_num(each.values), color=ink, alpha=0.18, linewidth=0)
            axes.set_xlim(0, seconds)
        self.text(self.w / 2, self.h * 0.6, words, fontsize=19 if found else 13, color=ink, ha="center")

    def curves(self, seconds: float) -> None:
        found = self.colours()
        taken = self.legend([(each.name, colour) for each, colour in found])
        axes = self.axes(bottom=_BOTTOM + taken)
        stacking = self.custom.get("stacking", {}).get("mode", "none")
        if stacking == "none":
            for each, colour in found:
                axes.plot(each.seconds, each.values, color=colour, linewidth=1.3)
        else:
            self.stack(axes, found, percent=stacking == "percent")
        self.timed(axes, seconds)
        axes.set_ylim(0, self.most or (1.0 if stacking == "percent" else _top(axes)))
        if self.custom.get("thresholdsStyle", {}).get("mode", "off") != "off":
            axes.axhline(self.steps[-1]["value"], color=_NAMED["red"], linewidth=1, linestyle="--")
        if stacking == "percent":
            self.unit = "percentunit"
        self.scaled(axes)

    def stack(self, axes: Any, found: Sequence[tuple[Series, str]], *, percent: bool) -> None:
        times = sorted({at for each, _ in found for at in each.seconds})
        rows = np.zeros((len(found), len(times)))
        for row, (each, _) in zip(rows, found, strict=True):
            values = dict(zip(each.seconds, np.nan_to_num(each.values), strict=True))
            row[:] = [values.get(at, 0.0) for at in times]
        if percent:
            whole = rows.sum(axis=0)
            rows = np.divide(rows, whole, out=np.zeros_like(rows), where=whole > 0)
        axes.stackplot(times, rows, colors=[colour for _, colour in found], alpha=0.75, linewidth=0)

    def bars(self, _: float) -> None:
        found = sorted(self.picture.series, key=lambda each: each.values[-1], reverse=True)
        names = [each.name for each in found]
        axes = self.axes(left=0.3 + max(map(len, names)) * _CHARACTER_IN, right=0.7, bottom=0.15)
        values = [each.values[-1] for each in found]
        axes.barh(range(len(found)), values, color=_NAMED["blue"], height=0.6)
        axes.set_xlim(0, max(*values, 1e-9))
        axes.set_xticks([])
        axes.set_yticks(range(len(found)), names, color=_INK, fontsize=7 if len(found) <= 14 else 5.5)
        axes.invert_yaxis()
        axes.spines[["bottom"]].set_visible(False)
        for place, value in enumerate(values):
            axes.annotate(f" {written(value, self.unit)}", (value, place), va="center", fontsize=7, annotation_clip=False)

    def heatmap(self, seconds: float) -> None:
        found = sorted(self.picture.series, key=lambda each: float(each.name))
        bounds = [each.name for each in found]
        axes = self.axes(bottom=_BOTTOM)
        values = np.array([np.nan_to_num(each.values) for each in found])
        counts = np.diff(values, axis=0, prepend=0).clip(min=0)
        shown = np.ma.masked_less(counts, 1e-9)
        extent = (found[0].seconds[0], found[0].seconds[-1], 0, len(bounds))
        axes.imshow(
            shown, aspect="auto", origin="lower", extent=extent, cmap="Blues", vmin=-0.15 * counts.max(), interpolation="none"
        )
        self.timed(axes, seconds)
        every = max(1, math.ceil(len(bounds) / 9))
        places = list(range(len(bounds)))[::-every]
        axes.set_yticks(
            [place + 1 for place in places], [f"{float(bounds[place]):g}".replace("inf", "more") for place in places]
        )

    def states(self, seconds: float) -> None:
        words = {
            float(value): shown
            for mapping in self.panel["fieldConfig"]["defaults"]["mappings"]
            for value, shown in mapping["options"].items()
        }
        taken = self.legend([(shown["text"], _NAMED[shown["color"]]) for shown in words.values()])
        found = sorted(self.picture.series, key=lambda each: each.name)
        axes = self.axes(left=0.3 + max(len(each.name) for each in found) * _CHARACTER_IN, bottom=_BOTTOM + taken)
        for place, each in enumerate(found):
            step = each.seconds[1] - each.seconds[0] if len(each.seconds) > 1 else 1.0
            for value, run in groupby(zip(each.seconds, each.values, strict=True), key=lambda at_value: at_value[1]):
                times = [at for at, _ in run]
                if value in words:
                    span = (times[0], times[-1] - times[0] + step)
                    axes.broken_barh([span], (place - 0.4, 0.8), facecolors=_NAMED[words[value]["color"]], alpha=0.75)
        axes.set_yticks(range(len(found)), [each.name for each in found], color=_INK)
        self.timed(axes, seconds)


def _top(axes: Any) -> float:
    """Where an axis ends: above what is drawn, and at 1 when all of that is 0."""
    highest = max((float(np.nanmax(line.get_ydata(), initial=0.0)) for line in axes.lines), default=0.0)
    return float(axes.get_ylim()[1]) if highest > 0 or axes.collections else 1.0
