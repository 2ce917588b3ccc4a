"""The report's pictures. Each function takes the figures that it shows and returns None if they were not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reflink.evaluation.report.markup import Markup
from reflink.evaluation.report.plots import Axis, Interval, Linear, Log, Logit, Point, Row, Series, percent, plot, rows

Figures = Mapping[str, Any]

#: Share of the targets that are present, by world.
SHARES: Final = {"open_20": 0.2, "open": 0.5, "open_80": 0.8}
#: Minimum queries of a kind that is shown; with fewer, its interval would dominate the picture.
_ENOUGH: Final = 30
_RATES: Final = {"precision": "precision", "recall": "recall", "f1": "F1"}


def _bounds(figures: Figures, name: str) -> Interval:
    low_high = figures.get(f"{name}_interval")
    return (low_high[0], low_high[1]) if low_high else None


def _extent(lines: Sequence[Row]) -> list[float]:
    """Return all values of the rows and the bounds of their intervals."""
    return [bound for line in lines for value in line.values if value for bound in (value[0], *(value[1] or ()))]


def approaches(tables: Figures) -> Markup | None:
    """Error by approach and mode, with the paper's own."""
    lines = [
        Row(
            f"{row['approach']} {row['mode']}",
            [(row["error"], _bounds(row, "error")), None if row.get("published") is None else (row["published"], None)],
        )
        for row in tables.get("approaches", ())
        if row.get("error") is not None
    ]
    if not lines:
        return None
    values = _extent(lines)
    # The error of TitleMatch is ten times that of the others.
    axis = Log(max(0.001, 0.9 * min(values)), max(0.011, 1.1 * max(values)), "error, on a scale of equal factors", percent)
    return rows(axis, ["here", "the paper"], lines, "Error by approach and mode")


def curve(tables: Figures) -> Markup | None:
    """Precision and recall of the published first stage over its thresholds, closed world."""
    given = tables.get("curve") or {}
    points = [Point(at["recall"], at["precision"]) for at in given.get("points", ())]
    if not points:
        return None
    series = [Series("all thresholds", points)]
    for key, name in (("nearest", "nearest (1, 1)"), ("published", "the paper's")):
        if at := given.get(key):
            series.append(Series(f"{name}, {at['threshold']:.4f}", [Point(at["recall"], at["precision"])], "dots"))
    y = Linear(*around([point.y for each in series for point in each.points]), "precision", percent)
    return plot(Linear(0, 1, "recall", percent), y, series, "Precision and recall of SBERT TVL, closed world")


def hybrid(tables: Figures) -> Markup | None:
    """Error of the recommended framework by threshold."""
    errors = [row["error"] for row in tables.get("hybrid") or ()]
    return _by_cosine(
        tables, "error", Linear(*around(errors, least=0.005), "error", percent), "Error of the hybrid by threshold"
    )


def fallback(tables: Figures) -> Markup | None:
    """The share of references that reach the second stage of the recommended framework."""
    y = Linear(0, max((0.05, *(row["fallback"] for row in tables.get("hybrid") or ()))), "share in the fallback", percent)
    return _by_cosine(tables, "fallback", y, "Share in the fallback by threshold")


def _by_cosine(tables: Figures, name: str, y: Axis, title: str) -> Markup | None:
    points = [Point(row["threshold"], row[name]) for row in tables.get("hybrid") or ()]
    if not points:
        return None
    at = [point.x for point in points]
    return plot(Linear(min(at), max(at), "threshold of the cosine"), y, [Series("", points)], title)


def verdict(figures: Figures) -> Markup | None:
    """Precision over recall in the open world: the verdict, and the published threshold."""
    given = figures.get("thresholds") or ()
    rule = figures.get("rule") or {}
    if not given and not rule:
        return None
    series = []
    if given:
        series.append(Series("verdict", _swept(given), "both"))
    if rule:
        shown = [row for row in rule["thresholds"] if row["recall"] >= 0.5]
        series.append(Series("published threshold rule", _swept(shown), "both", dashed=True))
        series.append(Series(f"at {rule['threshold']}", _swept([rule]), "dots"))
    x, y = (Logit(0.5, 0.9995, name) for name in ("recall", "precision"))
    return plot(x, y, series, "Precision over recall, open world, on scales of log-odds")


def _swept(given: Sequence[Figures]) -> list[Point]:
    return [Point(row["recall"], row["precision"]) for row in given]


def accepts(figures: Figures) -> Markup | None:
    """Precision, recall and F1 by the probability from which the verdict links."""
    given = figures.get("thresholds") or ()
    if not given:
        return None
    series = [Series(name, [Point(row["accept"], row[key]) for row in given]) for key, name in _RATES.items()]
    low = min(point.y for each in series for point in each.points)
    x = Logit(given[0]["accept"], given[-1]["accept"], "link from this probability on")
    return plot(x, Linear(min(0.95, low), 1, "", percent), series, "Figures by threshold of the verdict")


def reliability(figures: Figures) -> Markup | None:
    """Stated probability against the share that was right, 20 bins of equal mass."""
    bins = (figures.get("calibration") or {}).get("bins") or ()
    if not bins:
        return None
    points = [Point(row["probability"], row["right"], tuple(row["right_interval"])) for row in bins]
    x, y = (Logit(0.00003, 0.99997, label) for label in ("probability stated", "share right"))
    return plot(x, y, [Series("", points, "dots")], "Reliability, on scales of log-odds", diagonal=True)


def scores(figures: Figures) -> Markup | None:
    """Distribution of the best candidates' probabilities."""
    given = (figures.get("calibration") or {}).get("scores") or {}
    if not given:
        return None
    edges, series = given["edges"], []
    names = {"right": "the target", "wrong": "another, target present", "absent": "another, target absent"}
    for name, shown in names.items():
        counts = [*given[name], given[name][-1]]
        series.append(Series(shown, [Point(edge, n) for edge, n in zip(edges, counts, strict=True)], "steps"))
    most = max(point.y for each in series for point in each.points)
    y = Log(0.5, max(10.0, 1.3 * most), "best candidates")
    return plot(Logit(edges[0], edges[-1], "probability stated"), y, series, "Probabilities of the best candidates")


def kinds(figures: Figures, rates: Mapping[str, str], title: str) -> Markup | None:
    """Figures of each kind of query that has enough queries."""
    return _by_part(figures, figures.get("kinds", {}), rates, title)


def contents(figures: Figures, rates: Mapping[str, str], title: str) -> Markup | None:
    """Figures by what the references have, of parts with enough queries."""
    return _by_part(figures, figures.get("contents", {}), rates, title)


def _by_part(figures: Figures, of_parts: Mapping[str, Figures], rates: Mapping[str, str], title: str) -> Markup | None:
    parts = {"all": figures, **of_parts}
    lines = [
        Row(f"{kind} ({of['queries']:,})", [(of[name], _bounds(of, name)) for name in rates])
        for kind, of in parts.items()
        if of.get("queries", 0) >= _ENOUGH and all(name in of for name in rates)
    ]
    if not lines:
        return None
    return rows(Linear(*around(_extent(lines), least=0.005), "", percent), list(rates.values()), lines, title)


def shares(measured: Figures) -> Markup | None:
    """Precision, recall and F1 by the share of targets that are present."""
    present = measured["about"].get("present")
    known = {share: measured[name] for name, share in SHARES.items() if name in measured and not (present and name == "open")}
    if len(known) < 2:
        return None
    # Shift the series slightly, so that no interval hides another.
    series = [
        Series(name, [Point(share + 0.008 * (number - 1), of[key], _bounds(of, key)) for share, of in known.items()], "both")
        for number, (key, name) in enumerate(_RATES.items())
    ]
    values = [bound for each in series for point in each.points for bound in (point.y, *(point.interval or ()))]
    y = Linear(*around(values, least=0.005), "", percent)
    return plot(Linear(0.1, 0.9, "targets in the catalog", percent), y, series, "Figures by share of targets present")


def causes(figures: Figures) -> Markup | None:
    """Errors by cause and kind."""
    given = figures.get("causes") or {}
    if not given:
        return None
    sorts = [name for name in ("wrong", "missed", "false") if name in given]
    total = {cause: sum(given[sort].get(cause, 0) for sort in sorts) for sort in sorts for cause in given[sort]}
    lines = [
        Row(cause, [(given[sort][cause], None) if cause in given[sort] else None for sort in sorts])
        for cause in sorted(total, key=lambda cause: -total[cause])
    ]
    most = max(total.values())
    return rows(Linear(0, max(2, 1.05 * most), "queries"), sorts, lines, "Errors by cause", bars=True)


def around(values: Sequence[float], *, least: float = 0.02) -> tuple[float, float]:
    """Return bounds of an axis for all values, with a margin, at least ``least`` apart, within 0 and 1."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    air = max(0.05 * (high - low), (least - (high - low)) / 2)
    return max(0.0, low - air), min(1.0, high + air)
