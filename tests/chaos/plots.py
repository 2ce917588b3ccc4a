"""Pictures of what was measured: recovery by fault, and a soak's memory, lag and rate over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

_COLOURS = {"parser": "#4477aa", "linker": "#ee6677", "fallback": "#228833", "ledger": "#ccbb44", "all": "#666666"}


def recovery(measured: Sequence[dict[str, Any]], path: Path) -> None:
    """One row a fault, one dot a measurement, a bar where a limit is promised."""
    faults = list(dict.fromkeys(each["fault"] for each in measured))
    figure, axes = pyplot.subplots(figsize=(8, 0.6 * len(faults) + 1.4))
    for row, fault in enumerate(faults):
        mine = [each for each in measured if each["fault"] == fault]
        for worker, colour in _COLOURS.items():
            seconds = [each["seconds"] for each in mine if each["worker"] == worker]
            offset = (list(_COLOURS).index(worker) - 2) * 0.13
            axes.plot(seconds, [row + offset] * len(seconds), "o", color=colour, markersize=5, alpha=0.8)
        limit = mine[0]["limit_s"]
        if limit is not None:
            axes.plot([limit, limit], [row - 0.4, row + 0.4], color="black", linewidth=2)
    for worker, colour in _COLOURS.items():
        axes.plot([], [], "o", color=colour, label=worker)
    axes.plot([], [], color="black", linewidth=2, label="promised")
    axes.set_yticks(range(len(faults)), faults)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds until the last late link")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    _save(figure, path)


def soak(samples: Sequence[dict[str, Any]], marks: Sequence[tuple[float, str]], path: Path) -> None:
    """Memory, lag and links over minutes, and when what began."""
    minutes = [each["seconds"] / 60 for each in samples]
    figure, (memory, lag, rate) = pyplot.subplots(3, 1, figsize=(9, 8), sharex=True)
    for worker, colour in list(_COLOURS.items())[:4]:
        memory.plot(minutes, [each["rss_mb"][worker] for each in samples], color=colour, label=worker)
        lag.plot(minutes, [each["lag"][worker] + 1 for each in samples], color=colour, label=worker)
    rate.plot(minutes, [_rate(samples, here) for here in range(len(samples))], color="#666666")
    lag.set_yscale("log")
    for axes, label in ((memory, "resident memory, MB"), (lag, "lag, records + 1"), (rate, "outcomes a second")):
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0 if axes is not lag else 1)
        axes.grid(alpha=0.3)
        for at, text in marks:
            axes.axvline(at / 60, color="black", linewidth=0.8, linestyle=":")
            if axes is memory:
                axes.annotate(text, (at / 60, 1.0), xycoords=("data", "axes fraction"), rotation=30, fontsize=8)
    memory.legend(loc="lower right", fontsize=8)
    rate.set_xlabel("minutes")
    _save(figure, path)


def _rate(samples: Sequence[dict[str, Any]], here: int) -> float:
    """Outcomes a second over the minute, or more, before this sample."""
    now = samples[here]
    earlier = [each for each in samples[:here] if now["seconds"] - each["seconds"] >= 60]
    then = earlier[-1] if earlier else samples[0]
    return float((now["outcomes"] - then["outcomes"]) / max(1.0, now["seconds"] - then["seconds"]))


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    # The same measurements give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "reflink"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
