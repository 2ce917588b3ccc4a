"""Draw the dashboards with matplotlib: ``python -m helm.dashboards.pictures --prometheus URL --out docs``.

Each panel of the JSON files becomes a plot at its position on Grafana's grid, with data of a Prometheus server. Grafana is
not involved.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from helm.dashboards.querying import Queries, QueryFailed, filled

#: Intervals across a panel.
_STEPS: Final = 100
#: Rate window. Grafana uses four scrapes; 30 s is enough for scrapes every 2 s, and smooths the steps that batches cause.
_ALL: Final = {"namespace": ".*", "worker": ".*", "pod": ".*", "__rate_interval": "30s"}
_COLUMNS: Final = 24
_WIDTH_IN, _ROW_IN = 16.0, 0.42
_FRACTION: Final = re.compile(r"(\.\d)\d+")
#: Series named in a legend.
_NAMED: Final = 12


class Series(NamedTuple):
    """A curve: its name in the legend, and ``_STEPS + 1`` values at equal distances, NaN where no finite one exists."""

    name: str
    values: np.ndarray[Any, np.dtype[np.float64]]


def fetch(panel: dict[str, Any], queries: Queries, start: float, end: float) -> list[Series]:
    """Return the series of a panel, by name, for a time range in seconds since 1970. Raises QueryFailed."""
    step, found = (end - start) / _STEPS, []
    for target in panel["targets"]:
        for each in queries.over(filled(target["expr"], _ALL), start, end, step):
            labels, values = each["metric"], np.full(_STEPS + 1, np.nan)
            for at, value in each["values"]:
                values[round((at - start) / step)] = float(value) if math.isfinite(float(value)) else math.nan
            name = re.sub(r"{{(\w+)}}", lambda label: str(labels.get(label[1], "")), target["legendFormat"])  # noqa: B023
            found.append(Series(name, values))
    return sorted(found, key=lambda series: series.name)


def written(value: float, unit: str) -> str:
    """Format a number with one of the panels' units: 1,234 /s, 34.5%, 0.12 s, 96.0 MiB."""
    if not math.isfinite(value):
        return "no data"
    if unit == "percentunit":
        return f"{value:.1%}"
    if unit == "bytes":
        return f"{value / 2**20:,.1f} MiB"
    number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return number + {"s": " s"}.get(unit, unit.partition("suffix:")[2])


def _plot(axes: Any, panel: dict[str, Any], series: Sequence[Series], minutes: float) -> None:
    """Draw one panel: bars, an image, or curves; a panel of one number is a curve with the last value in its title."""
    kind, defaults = panel["type"], panel["fieldConfig"]["defaults"]
    axes.set_title(panel["title"], loc="left", fontsize=8, weight="bold")
    if not series:
        axes.text(0.5, 0.5, defaults.get("noValue", "no data"), ha="center", va="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    last = [next((float(value) for value in each.values[::-1] if math.isfinite(value)), math.nan) for each in series]
    if kind == "bargauge":
        _bars(axes, series, defaults["unit"])
        return
    if kind in ("heatmap", "state-timeline"):
        _image(axes, series, minutes, cumulative=kind == "heatmap")
    else:
        _curves(axes, defaults, series, minutes)
    if kind == "stat":
        axes.set_title(f"{panel['title']}: {written(last[0], defaults['unit'])}", loc="left", fontsize=8, weight="bold")
        axes.get_legend().remove()
        axes.set_axis_off()
    axes.set_xlim(0, minutes)
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} min")


def _bars(axes: Any, series: Sequence[Series], unit: str) -> None:
    """Draw the series that exist at the end of the time range: the members of ``topk`` differ from step to step."""
    now = [(float(each.values[-1]), each.name) for each in series if math.isfinite(each.values[-1])]
    for row, (value, name) in enumerate(sorted(now, reverse=True)):
        axes.barh(row, value, color="lightsteelblue")
        axes.text(0, row, f" {name}: {written(value, unit)}", va="center", fontsize=7 if len(now) <= 14 else 5)
    axes.invert_yaxis()
    axes.set_axis_off()


def _image(axes: Any, series: Sequence[Series], minutes: float, *, cumulative: bool) -> None:
    """Draw a row for each series: the counts of the buckets of a histogram (``cumulative``), or states, 0 red and 1 green."""
    names, values = [each.name for each in series], np.array([each.values for each in series])
    extent, look = (0, minutes, -0.5, len(series) - 0.5), {"aspect": "auto", "origin": "lower", "interpolation": "none"}
    if not cumulative:
        axes.imshow(values, extent=extent, cmap="RdYlGn", vmin=0, vmax=1, alpha=0.7, **look)
        axes.set_yticks([])
        for row, name in enumerate(names):
            axes.text(0, row, f" {name}", va="center")
        return
    order = np.argsort([float(name) for name in names])
    counts = np.diff(np.nan_to_num(values[order]), axis=0, prepend=0)
    axes.imshow(np.ma.masked_less(counts, 1e-9), extent=extent, cmap="Blues", vmin=-0.2 * counts.max(), **look)
    axes.set_yticks(range(len(names)), [names[row] for row in order], fontsize=7 if len(names) <= 14 else 5)


def _curves(axes: Any, defaults: dict[str, Any], series: Sequence[Series], minutes: float) -> None:
    custom, unit, times = defaults.get("custom", {}), defaults["unit"], np.linspace(0, minutes, _STEPS + 1)
    values, names = np.array([each.values for each in series]), [each.name for each in series]
    stacking = custom.get("stacking", {}).get("mode", "none")
    if stacking == "none":
        drawn = axes.plot(times, values.T)
    else:
        values = np.nan_to_num(values)
        if stacking == "percent":
            whole = values.sum(axis=0)
            values, unit = values / np.where(whole > 0, whole, 1), "percentunit"
        drawn = axes.stackplot(times, values)
    if custom.get("thresholdsStyle", {}).get("mode", "off") != "off":
        axes.axhline(defaults["thresholds"]["steps"][-1]["value"], color="red", linestyle="--")
    known = np.nan_to_num(values)
    axes.set_ylim(min(0, known.min()), defaults.get("max", 1 if stacking == "percent" or not known.any() else None))
    axes.locator_params(axis="y", nbins=4)
    axes.yaxis.set_major_formatter(lambda value, _: written(value, unit))
    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    axes.legend(drawn[: _NAMED + 1], names[:_NAMED] + more, fontsize=6, loc="upper left")


def draw(document: dict[str, Any], queries: Queries, end: float, seconds: float, path: Path) -> None:
    """Draw a dashboard over the ``seconds`` before ``end`` and write it as SVG. Raises QueryFailed."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("svg")
    matplotlib.rcParams.update({"font.size": 7, "svg.fonttype": "none", "svg.hashsalt": "reflink"})
    panels = document["panels"]
    # Two lines of the grid above the panels are for the title of the dashboard.
    lines = 2 + max(each["gridPos"].get("y", 0) + each["gridPos"]["h"] for each in panels)
    figure = pyplot.figure(figsize=(_WIDTH_IN, lines * _ROW_IN))
    figure.text(0.01, 1 - 1.2 / lines, document["title"], fontsize=14, weight="bold")
    for panel in panels:
        at = panel["gridPos"]
        left, top = (at.get("x", 0) + 1) / _COLUMNS, 1 - (at.get("y", 0) + 2.8) / lines
        if panel["type"] == "row":
            figure.text(0.01, top, panel["title"], fontsize=11, weight="bold")
            continue
        width, height = (at["w"] - 1.3) / _COLUMNS, (at["h"] - 1.8) / lines
        axes = figure.add_axes((left, top - height, width, height))
        _plot(axes, panel, fetch(panel, queries, end - seconds, end), seconds / 60)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, facecolor="white", dpi=100)
    pyplot.close(figure)
    # Coordinates with one decimal look the same, and the file is half as large.
    path.write_text(re.sub(r' d="[^"]*"', lambda found: _FRACTION.sub(r"\1", found[0]), path.read_text()))


def main(argv: Sequence[str] | None = None) -> int:
    """Draw all dashboards; return 0, or 1 if a query fails."""
    parser = argparse.ArgumentParser(prog="python -m helm.dashboards.pictures", description=__doc__.partition("\n")[0])
    parser.add_argument("--prometheus", required=True, metavar="URL")
    parser.add_argument("--dashboards", type=Path, default=Path("helm/reflink/dashboards"), metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=6.0, help="how far back the pictures begin")
    parser.add_argument("--until", type=float, help="where they end, in seconds since 1970; now, if not given")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    given = parser.parse_args(argv)
    try:
        for path in sorted(given.dashboards.glob("*.json")):
            out = given.out / f"dashboard-{path.stem}.svg"
            draw(json.loads(path.read_text()), Queries(given.prometheus), given.until or time.time(), given.minutes * 60, out)
    except QueryFailed as error:
        print(f"no pictures: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
