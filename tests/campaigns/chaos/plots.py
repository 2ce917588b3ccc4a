"""Plots of the measurements: recovery by fault, and a soak's memory, lag and rate over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from tests.campaigns.plots import COLOURS, GREY, draw_marks, rates, save


def recovery(measured: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw one row per fault and one dot per measurement, with a bar at the promised limit, if there is one."""
    colours = {**COLOURS, "all": GREY}
    faults = list(dict.fromkeys(each["fault"] for each in measured))
    figure = Figure(figsize=(8, 0.6 * len(faults) + 1.4))
    axes = figure.subplots()
    for row, fault in enumerate(faults):
        mine = [each for each in measured if each["fault"] == fault]
        for place, (worker, colour) in enumerate(colours.items()):
            seconds = [each["seconds"] for each in mine if each["worker"] == worker]
            axes.plot(seconds, [row + (place - 2) * 0.13] * len(seconds), "o", color=colour, markersize=5, alpha=0.8)
        limit = mine[0]["limit_s"]
        if limit is not None:
            axes.plot([limit, limit], [row - 0.4, row + 0.4], color="black", linewidth=2)
    for worker, colour in colours.items():
        axes.plot([], [], "o", color=colour, label=worker)
    axes.plot([], [], color="black", linewidth=2, label="promised")
    axes.set_yticks(range(len(faults)), faults)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds until the last late link")
    axes.grid(axis="x", alpha=0.3)
    _legend_beside(axes)
    save(figure, path)


def soak(samples: Sequence[dict[str, Any]], marks: Sequence[tuple[float, str]], path: Path) -> None:
    """Draw memory, lag and rate of outcomes over minutes, with the marks."""
    minutes = [each["seconds"] / 60 for each in samples]
    figure = Figure(figsize=(10, 8))
    panels = memory, lag, rate = figure.subplots(3, 1, sharex=True)
    for worker, colour in COLOURS.items():
        memory.plot(minutes, [each["rss_mb"][worker] for each in samples], color=colour, label=worker)
        lag.plot(minutes, [each["lag"][worker] + 1 for each in samples], color=colour, label=worker)
    rate.plot(minutes, rates(samples, "outcomes", 60), color=GREY)
    lag.set_yscale("log")
    lag.set_xlim(left=0)
    for axes, label in zip(panels, ("resident memory, MB", "lag, records + 1", "outcomes a second"), strict=True):
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0 if axes is not lag else 1)
        axes.grid(alpha=0.3)
    draw_marks(panels, marks, rotation=30)
    _legend_beside(memory)
    _legend_beside(lag)
    rate.set_xlabel("minutes")
    save(figure, path)


def _legend_beside(axes: Any) -> None:
    """Place the legend to the right of the plot, where it covers nothing."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize=8)
