"""The dashboards as pictures: ``python -m helm.dashboards.pictures --prometheus URL --out docs``.

Not Grafana's own drawing: the panels of the JSON files, with the answers of a Prometheus, drawn by matplotlib (extra bench).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from helm.dashboards.querying import Queries, QueryFailed, filled

#: Points across a panel.
_POINTS: Final = 100
#: Grafana's own rule is four scrapes; this is enough for one of 2 s, and smooths what a batch makes jagged.
_WINDOW: Final = "30s"
_ALL: Final = {"namespace": ".*", "worker": ".*", "pod": ".*", "__rate_interval": _WINDOW}
#: Asked at one moment only.
_INSTANT: Final = "bargauge"


@dataclass(frozen=True)
class Series:
    """A curve: its name in the legend, and seconds since the beginning with values."""

    name: str
    seconds: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Picture:
    """A panel with its data."""

    panel: dict[str, Any]
    series: tuple[Series, ...]


def fetch(panel: dict[str, Any], queries: Queries, start: float, end: float) -> Picture:
    """Asks for what a panel shows between two times. Raises QueryFailed."""
    series: list[Series] = []
    for target in panel["targets"]:
        expression = filled(target["expr"], _ALL)
        if panel["type"] == _INSTANT:
            found = [{**each, "values": [each["value"]]} for each in queries.instant(expression, end)]
        else:
            found = queries.over(expression, start, end, (end - start) / _POINTS)
        series += [_series(each, target["legendFormat"], start) for each in found]
    return Picture(panel, tuple(series))


def _series(found: dict[str, Any], legend: str, start: float) -> Series:
    name = re.sub(r"{{(\w+)}}", lambda label: str(found["metric"].get(label[1], "")), legend)
    times, values = zip(*found["values"], strict=True)
    return Series(name, tuple(at - start for at in times), tuple(map(float, values)))


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0, or 1 when Prometheus does not answer."""
    parser = argparse.ArgumentParser(prog="python -m helm.dashboards.pictures", description=__doc__.partition("\n")[0])
    parser.add_argument("--prometheus", required=True, metavar="URL")
    parser.add_argument("--dashboards", type=Path, default=Path("helm/reflink/dashboards"), metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=6.0, help="how far back the pictures begin")
    parser.add_argument("--until", type=float, help="where they end, in seconds since 1970; now, if not given")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    given = parser.parse_args(argv)
    try:
        draw_all(given.dashboards, Queries(given.prometheus), given.until or time.time(), given.minutes * 60, given.out)
    except QueryFailed as error:
        print(f"no pictures: {error}", file=sys.stderr)
        return 1
    return 0


def draw_all(dashboards: Path, queries: Queries, end: float, seconds: float, out: Path) -> None:
    """One SVG for each dashboard of a folder. Raises QueryFailed."""
    from helm.dashboards import drawing

    for path in sorted(dashboards.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        pictures = [
            fetch(panel, queries, end - seconds, end) if panel["type"] != "row" else Picture(panel, ())
            for panel in document["panels"]
        ]
        drawing.draw(document["title"], pictures, seconds, out / f"dashboard-{path.stem}.svg")


if __name__ == "__main__":
    sys.exit(main())
