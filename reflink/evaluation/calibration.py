"""Calibration of the verdict's probabilities, and figures at other thresholds, from outcomes alone.

Both use the best candidate of each query, linked or not: its probability, and whether it is the target. A query without
candidates is left out, and one whose best candidate a rule refuses whatever its probability (RULED); the best candidate of an
absent query is always wrong.

The main figure, ``ece``, is the expected calibration error over 20 bins of equal mass: the mean of |mean probability - share
right|, weighted by the number of queries in the bin. Bins of equal width (``ece_equal_width``, the usual choice) show little
here, because nearly all probabilities are in the first or the last bin. Equal probabilities share a bin, so there may be fewer
than 20 bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reflink.evaluation.outcomes import Outcome
from reflink.evaluation.proportions import wilson

BINS: Final = 20
#: Reasons without a link that do not depend on the probability.
RULED: Final = frozenset(("ambiguous", "other-version"))
#: Values of ``accept`` that the sweep tries.
ACCEPTS: Final = (
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96,
    0.97, 0.98, 0.985, 0.99, 0.993, 0.995, 0.997, 0.998, 0.999,
)  # fmt: skip
#: Bins of the distribution of probabilities, as log-odds: these resolve the probabilities near 0 and near 1.
_LOG_ODDS: Final = np.arange(-7.0, 7.5, 0.5)
_DECIMALS: Final = 6

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def _share(hits: float, n: float) -> float:
    return round(float(hits / n), _DECIMALS) if n else 0.0


def _judged(outcomes: Sequence[Outcome]) -> tuple[Floats, Flags, Flags]:
    """Return each best candidate's probability, whether it is right, and whether its query's target is present."""
    links = ((outcome, outcome.link) for outcome in outcomes)
    kept = [outcome for outcome, link in links if link.probability is not None and link.unresolved not in RULED]
    return (
        np.array([outcome.link.probability for outcome in kept], dtype=float),
        np.array([outcome.best for outcome in kept], dtype=bool),
        np.array([outcome.present for outcome in kept], dtype=bool),
    )


def reliability(p: Floats, right: Flags, edges: Floats) -> list[dict[str, Any]]:
    """Return a row for each non-empty bin: bounds, number of queries, mean probability, share right with Wilson's interval.

    A bin excludes its lower edge and includes its upper edge; the first bin also includes the lowest edge.
    """
    bins = np.searchsorted(edges[1:-1], p)
    rows = []
    for number in np.unique(bins):
        inside = bins == number
        n, hits = int(inside.sum()), int(right[inside].sum())
        rows.append({
            "low": round(float(edges[number]), _DECIMALS), "high": round(float(edges[number + 1]), _DECIMALS), "queries": n,
            "probability": round(float(p[inside].mean()), _DECIMALS), "right": _share(hits, n),
            "right_interval": wilson(hits, n),
        })  # fmt: skip
    return rows


def error_of(rows: Sequence[dict[str, Any]]) -> float:
    """Return the expected calibration error of a reliability table."""
    return _share(
        sum(row["queries"] * abs(row["probability"] - row["right"]) for row in rows), sum(row["queries"] for row in rows)
    )


def calibration(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return ``ece`` over ``bins`` of equal mass, ``ece_equal_width``, ``brier`` (mean squared error) and ``queries``.

    ``queries``: number of queries with a candidate. ``scores``: numbers of best candidates that are ``right``, ``wrong``
    although the target is present, and of ``absent`` queries, between consecutive ``edges`` (probabilities, evenly spaced in
    log-odds); the first and the last bin include the probabilities beyond. Returns {} without probabilities.
    """
    p, right, present = _judged(outcomes)
    if not len(p):
        return {}
    mass = reliability(p, right, np.quantile(p, np.linspace(0, 1, BINS + 1)))
    width = reliability(p, right, np.linspace(0, 1, BINS + 1))
    edges = 1 / (1 + np.exp(-_LOG_ODDS))
    where = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, len(edges) - 2)
    kinds = {"right": right, "wrong": present & ~right, "absent": ~present}
    counts = {name: np.bincount(where[which], minlength=len(edges) - 1).tolist() for name, which in kinds.items()}
    return {
        "ece": error_of(mass), "ece_equal_width": error_of(width), "brier": round(float(((p - right) ** 2).mean()), _DECIMALS),
        "queries": len(p), "bins": mass, "bins_equal_width": width,
        "scores": {"edges": np.round(edges, _DECIMALS).tolist(), **counts},
    }  # fmt: skip


def thresholds(outcomes: Sequence[Outcome], accepts: Sequence[float] = ACCEPTS) -> list[dict[str, float]]:
    """Return precision, recall, F1 and false links for each of ``accepts`` as the verdict's threshold.

    Empty without probabilities. The stages do not run again: a link that the first stage accepted stays as it is.
    """
    p, right, present = _judged(outcomes)
    if not len(p):
        return []
    return sweep(p, right, present, sum(outcome.present for outcome in outcomes), len(outcomes), accepts)


def sweep(
    values: Floats, right: Flags, present: Flags, targets: int, queries: int, least: Sequence[float], name: str = "accept"
) -> list[dict[str, float]]:
    """Return precision, recall, F1 and false links if best candidates are linked from each value in ``least`` on.

    ``queries``, ``targets``: number of queries, and of queries with a target. ``name``: key of the value in each row.
    """
    rows = []
    for accept in least:
        linked = values >= accept
        links, hits, false = int(linked.sum()), int((linked & right).sum()), int((linked & ~present).sum())
        rows.append({
            name: accept, "precision": _share(hits, links), "recall": _share(hits, targets),
            "f1": _share(2 * hits, links + targets), "false_link": _share(false, queries - targets),
        })  # fmt: skip
    return rows
