"""The picture of a run: lag, replicas and throughput over minutes, with what began when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

_COLOURS = {"parser": "#4477aa", "linker": "#ee6677", "fallback": "#228833", "ledger": "#ccbb44"}
_WINDOW_S = 5.0


def draw(samples: Sequence[dict[str, Any]], marks: Sequence[tuple[float, str]], title: str, path: Path) -> None:
    """Writes it as SVG; the same record gives the same file."""
    minutes = [each["seconds"] / 60 for each in samples]
    figure, (lag, keda, replicas, rate) = pyplot.subplots(4, 1, figsize=(10, 10.5), sharex=True)
    for worker, colour in _COLOURS.items():
        lag.plot(minutes, [each["lag"][worker] + 1 for each in samples], color=colour, label=worker)
        if any(worker in each["keda"] for each in samples):
            keda.plot(minutes, [each["keda"].get(worker, 0) + 1 for each in samples], color=colour)
        replicas.step(minutes, [each["wanted"][worker] for each in samples], color=colour, where="post", linestyle=":")
        replicas.step(minutes, [each["ready"][worker] for each in samples], color=colour, where="post")
    replicas.plot([], [], color="black", linestyle=":", label="wanted")
    replicas.plot([], [], color="black", label="ready")
    rate.plot(minutes, [_rate(samples, here) for here in range(len(samples))], color="#666666")
    lag.set_yscale("log")
    keda.set_yscale("log")
    labels = ("lag by reflink, records + 1", "lag by KEDA, records + 1", "replicas", "links a second")
    told = joined(marks)
    for axes, label in zip((lag, keda, replicas, rate), labels, strict=True):
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        for at, text in told:
            axes.axvline(at / 60, color="black", linewidth=0.8, linestyle=":")
            if axes is lag:
                axes.annotate(text, (at / 60, 1.03), xycoords=("data", "axes fraction"), rotation=40, fontsize=8)
    lag.legend(loc="upper right", fontsize=8)
    replicas.legend(loc="upper right", fontsize=8)
    replicas.set_ylim(bottom=0)
    rate.set_ylim(bottom=0)
    rate.set_xlabel("minutes")
    figure.suptitle(title, fontsize=10)
    figure.tight_layout()
    matplotlib.rcParams["svg.hashsalt"] = "reflink"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def joined(marks: Sequence[tuple[float, str]], apart_s: float = 12.0) -> list[tuple[float, str]]:
    """Marks that are close to each other become one, so that they can be read; it stands where the first was."""
    found: list[tuple[float, str]] = []
    for at, text in marks:
        if found and at - found[-1][0] < apart_s:
            found[-1] = (found[-1][0], f"{found[-1][1]}, {text}")
        else:
            found.append((at, text))
    return found


def _rate(samples: Sequence[dict[str, Any]], here: int) -> float:
    """Links a second over the last seconds before this sample."""
    now = samples[here]
    earlier = [each for each in samples[:here] if now["seconds"] - each["seconds"] >= _WINDOW_S]
    then = earlier[-1] if earlier else samples[0]
    return float((now["links"] - then["links"]) / max(1.0, now["seconds"] - then["seconds"]))
