"""Compiled scores of many pairs: the sums of their scorecards' points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.verdict.evidence import COLUMN
from reflink.verdict.scorecard import BOUNDS, COLUMNS, SILENT

Floats = npt.NDArray[np.float64]

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


@compiled(nogil=True)
def _points(
    rows: Floats, weights: Floats, columns: npt.NDArray[np.int64], bounds: Floats, silent: npt.NDArray[np.int64], out: Floats
) -> None:
    for pair in range(len(rows)):
        row = rows[pair]
        card = weights[int(row[_CARD])]
        total = card[len(silent)]
        for feature in range(len(silent)):
            holds = silent[feature] < 0 or np.isnan(row[silent[feature]])
            for at in range(columns.shape[1]):
                column = columns[feature, at]
                if not holds or column < 0:
                    break
                holds = bounds[feature, at, 0] <= row[column] <= bounds[feature, at, 1]
            if holds:
                total += card[feature]
        out[pair] = total
