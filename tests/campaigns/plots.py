"""What the plots of campaigns share: colours, marks, rates, and files that are equal for equal measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib

COLOURS: Final = {"parser": "#4477aa", "linker": "#ee6677", "fallback": "#228833", "ledger": "#ccbb44"}
GREY: Final = "#666666"


def draw_marks(panels: Sequence[Any], marks: Sequence[tuple[float, str]], **text: Any) -> None:
    """Draw the marks (seconds, text) as lines in all panels, whose axis is in minutes, with the texts above the first panel."""
    for axes in panels:
        for at, label in marks:
            axes.axvline(at / 60, color="black", linewidth=0.8, linestyle=":")
            if axes is panels[0]:
                axes.annotate(label, (at / 60, 1.03), xycoords=("data", "axes fraction"), fontsize=8, **text)


def rates(samples: Sequence[dict[str, Any]], name: str, window_s: float) -> list[float]:
    """Return for each sample the increase of a counter per second over ``window_s`` seconds, or more, before it."""
    found = []
    for here, now in enumerate(samples):
        earlier = [each for each in samples[:here] if now["seconds"] - each["seconds"] >= window_s]
        then = earlier[-1] if earlier else samples[0]
        found.append((now[name] - then[name]) / max(1.0, now["seconds"] - then["seconds"]))
    return found


def save(figure: Any, path: Path) -> None:
    """Write the figure as SVG; the same measurements give the same file."""
    figure.tight_layout()
    matplotlib.rcParams["svg.hashsalt"] = "reflink"
    figure.savefig(path, metadata={"Date": None})
