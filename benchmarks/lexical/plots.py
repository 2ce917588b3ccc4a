"""Plot the cost against the size of the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

from benchmarks.lexical.measure import SEEDED, WITH, WITHOUT
from benchmarks.lexical.report import ways

_COLOURS: Final = {WITHOUT: "#ee6677", WITH: "#4477aa", SEEDED: "#228833"}
#: Colours by k; plain counting has no k.
_STYLES: Final = {0: (":", "^"), 1: ("-", "o"), 2: ("--", "s")}


def curve(results: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Plot ms per query against works, both logarithmic: a panel per mode, a line per kind of query and way to search."""
    modes = list(dict.fromkeys(each["mode"] for each in results))
    figure, parts = pyplot.subplots(1, len(modes), figsize=(4.6 * len(modes), 5.6), sharey=True, squeeze=False)
    for axes, mode in zip(parts[0], modes, strict=True):
        mine = sorted((each for each in results if each["mode"] == mode), key=lambda each: each["works"])
        works = [each["works"] for each in mine]
        shown = ways(mine)
        batch = max(way.batch for way in shown)
        begin = (shown[0].cost(mine[0]["search"]) * shown[-1].cost(mine[0]["search"])) ** 0.5
        axes.plot(works, [begin * count / works[0] for count in works], color="#cccccc", linewidth=4, label="linear")
        for way in shown:
            if way.batch in (0, batch):
                line, mark = _STYLES[way.k]
                costs = [way.cost(each["search"]) for each in mine]
                axes.plot(works, costs, line, marker=mark, markersize=5, color=_COLOURS[way.kind], label=way.name())
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(works, [f"{count / 1e6:.3g} M" if count >= 1e6 else f"{count / 1e3:.3g} k" for count in works])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("works")
        axes.set_title(f"mode {mode}")
        axes.grid(which="both", alpha=0.3)
    parts[0][0].set_ylabel("ms a query, one core, no floor")
    handles, labels = parts[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=2 if len(modes) > 1 else 1, fontsize=8)
    figure.tight_layout(rect=(0, 0.2 if len(modes) > 1 else 0.34, 1, 1))
    # The same measurements give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "reflink"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
