"""Plot the cost of each stage over the size of the catalog, with its bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

from benchmarks.stages import measure

_COLOURS: Final = {
    measure.VECTORS: "#cc3311", measure.ENCODING: "#777777", measure.WITHOUT: "#33418f", measure.WITH: "#4477aa",
    measure.VERDICT: "#228833", measure.LOCATOR: "#aa7700", measure.IDENTIFIER: "#aa3377",
}  # fmt: skip
#: Minimum ratio of the places of two labels.
_APART: Final = 1.5


def draw(sizes: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw microseconds per reference over works, both logarithmic: a line per stage, and a dotted one for its bound."""
    works = [each["works"] for each in sizes]
    figure, axes = pyplot.subplots(figsize=(8.2, 5.4))
    ends: dict[str, float] = {}
    named: list[float] = []  # bounds with a text: equal ones have one text
    for stage, colour in _COLOURS.items():
        costs = [each["stages"][stage]["us"] for each in sizes]
        axes.plot(works, costs, "-", color=colour, marker=None if stage == measure.ENCODING else "o", markersize=4)
        ends[stage] = costs[-1]
        bounds = [each["stages"][stage]["bound_us"] for each in sizes]
        if bounds[-1] is None:
            continue
        axes.plot(works, bounds, ":", color=colour, linewidth=1.2)
        if all(max(bounds[-1], other) > _APART * min(bounds[-1], other) for other in named):
            named.append(bounds[-1])
            at = 0 if bounds[0] == bounds[-1] else len(works) // 2
            axes.annotate(
                sizes[-1]["stages"][stage]["bound"], (works[at], bounds[at]), xytext=(5, -4),
                textcoords="offset points", va="top", color=colour, fontsize=8,
            )  # fmt: skip
    places = spread(ends)
    for stage, height in places.items():
        axes.annotate(
            f"{stage}  {ends[stage]:,.0f} µs", (1, height), xytext=(8, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", va="center", color=_COLOURS[stage], fontsize=9.5,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="works in the catalog", ylabel="µs per reference, one core")
    axes.set_ylim(top=max(axes.get_ylim()[1], max(places.values()) * _APART))
    axes.set_xticks(works, [f"{count / 1e6:g} M" if count >= 1e5 else f"{count:,}" for count in works])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    axes.set_title("solid: measured; dotted, same colour: its bound; labels: at the largest size", fontsize=9.5, loc="left")
    axes.grid(which="major", alpha=0.3)
    axes.margins(x=0.02)
    figure.tight_layout()
    # The same measurements give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "reflink"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def spread(ends: Mapping[str, float], apart: float = _APART) -> dict[str, float]:
    """Return a place for the label of each line, in ascending order, at least the ratio ``apart`` above the one before."""
    places: dict[str, float] = {}
    below = 0.0
    for name, end in sorted(ends.items(), key=lambda item: item[1]):
        places[name] = below = max(end, below * apart)
    return places
