"""Compiled scores of many pairs: the sums of their scorecards' points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.verdict.evidence import COLUMN
from reflink.verdict.scorecard import BOUNDS, COLUMNS, SILENT

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_CARD = COLUMN["card"]


def log_odds(rows: Floats, weights: Floats) -> Floats:
    """Return the score of each row of evidence, [n, columns], on its card: log-odds, float64 [n].

    ``weights`` [cards, features + 1]: each card's points for every feature, then its intercept. Raises ValueError if the number
    of points is not the number of features.
    """
    if weights.ndim != 2 or weights.shape[1] != len(SILENT) + 1:
        expected = f"one for each of {len(SILENT)} features, then the intercept"
        raise ValueError(f"weights of shape {weights.shape}: expected {expected}")
    scored = np.empty(len(rows))
    _points(np.ascontiguousarray(rows), np.ascontiguousarray(weights, np.float64), COLUMNS, BOUNDS, SILENT, scored)
    return scored


def by_subject(row: Floats, weights: Floats, subjects: Ints, count: int) -> Floats:
    """Return the sums of points of one row of evidence, [columns], on its card, by subject: float64 [count].

    ``weights``: as in `log_odds`; ``subjects`` [features]: the subject of each feature, from 0.
    """
    sums = np.zeros(count)
    _subjects(row, weights, COLUMNS, BOUNDS, SILENT, subjects, sums)
    return sums


@compiled(nogil=True)
def _holds(row: Floats, feature: int, columns: Ints, bounds: Floats, silent: Ints) -> bool:
    if silent[feature] >= 0 and not np.isnan(row[silent[feature]]):
        return False
    for at in range(columns.shape[1]):
        column = columns[feature, at]
        if column < 0:
            break
        if not bounds[feature, at, 0] <= row[column] <= bounds[feature, at, 1]:
            return False
    return True


@compiled(nogil=True)
def _points(rows: Floats, weights: Floats, columns: Ints, bounds: Floats, silent: Ints, out: Floats) -> None:
    for pair in range(len(rows)):
        card = weights[int(rows[pair, _CARD])]
        total = card[len(silent)]
        for feature in range(len(silent)):
            if _holds(rows[pair], feature, columns, bounds, silent):
                total += card[feature]
        out[pair] = total


@compiled(nogil=True)
def _subjects(row: Floats, weights: Floats, columns: Ints, bounds: Floats, silent: Ints, subjects: Ints, out: Floats) -> None:
    card = weights[int(row[_CARD])]
    for feature in range(len(silent)):
        if _holds(row, feature, columns, bounds, silent):
            out[subjects[feature]] += card[feature]
