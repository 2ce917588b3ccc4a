"""The plot of a run: lag, replicas and throughput over minutes, with marks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from tests.campaigns.plots import COLOURS, GREY, draw_marks, rates, save

#: Marks closer than this are drawn as one, so that they are legible.
_APART_S = 12.0


def draw(samples: Sequence[dict[str, Any]], marks: Sequence[tuple[float, str]], title: str, path: Path) -> None:
    """Write the plot as SVG."""
    minutes = [each["seconds"] / 60 for each in samples]
    figure = Figure(figsize=(10, 10.5))
    panels = lag, keda, replicas, rate = figure.subplots(4, 1, sharex=True)
    for worker, colour in COLOURS.items():
        lag.plot(minutes, [each["lag"][worker] + 1 for each in samples], color=colour, label=worker)
        if any(worker in each["keda"] for each in samples):
            keda.plot(minutes, [each["keda"].get(worker, 0) + 1 for each in samples], color=colour)
        replicas.step(minutes, [each["wanted"][worker] for each in samples], color=colour, where="post", linestyle=":")
        replicas.step(minutes, [each["ready"][worker] for each in samples], color=colour, where="post")
    replicas.plot([], [], color="black", linestyle=":", label="wanted")
    replicas.plot([], [], color="black", label="ready")
    rate.plot(minutes, rates(samples, "links", 5), color=GREY)
    lag.set_yscale("log")
    keda.set_yscale("log")
    labels = ("lag by reflink, records + 1", "lag by KEDA, records + 1", "replicas", "links a second")
    for axes, label in zip(panels, labels, strict=True):
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    draw_marks(panels, joined(marks), rotation=40)
    lag.legend(loc="upper right", fontsize=8)
    replicas.legend(loc="upper right", fontsize=8)
    replicas.set_ylim(bottom=0)
    rate.set_ylim(bottom=0)
    rate.set_xlabel("minutes")
    figure.suptitle(title, fontsize=10)
    save(figure, path)


def joined(marks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Join marks that are close to the first of them."""
    found: list[tuple[float, str]] = []
    for at, text in marks:
        if found and at - found[-1][0] < _APART_S:
            found[-1] = (found[-1][0], f"{found[-1][1]}, {text}")
        else:
            found.append((at, text))
    return found
