"""95% intervals by the bootstrap over citing papers.

References of one paper are not independent: they share an editor's style, a parser's faults, a false identifier copied twice. A
resample therefore draws whole papers with replacement, as many as there are. An interval spans the 2.5th to the 97.5th
percentile of the figure over RESAMPLES resamples. The seed is fixed: the same outcomes give the same intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reflink.evaluation.proportions import wilson

RESAMPLES: Final = 2000
SEED: Final = 1
#: Number of resamples in memory at once.
_CHUNK: Final = 100
_DECIMALS: Final = 6

#: A share as two numbers for each outcome: its contributions to the numerator and to the denominator.
Parts = tuple[ArrayLike, ArrayLike]


def intervals(papers: Sequence[str], shares: Mapping[str, Parts]) -> dict[str, list[float]]:
    """Return [low, high] of each share by name. ``papers``: the citing paper of each outcome.

    Resamples with denominator 0 are left out. If all resamples agree, because there are no errors or only one paper, they do
    not show the spread: the interval is then Wilson's over references. [0, 1] without observations.
    """
    known, rows = np.unique(np.asarray(papers, dtype=object).astype(str), return_inverse=True)
    sums = np.zeros((len(known), 2 * len(shares)))
    for column, part in enumerate(part for parts in shares.values() for part in parts):
        sums[:, column] = np.bincount(rows, np.broadcast_to(np.asarray(part, dtype=float), rows.shape), len(known))
    drawn = _totals(sums)
    found: dict[str, list[float]] = {}
    for number, name in enumerate(shares):
        hits, counted = drawn[:, 2 * number], drawn[:, 2 * number + 1]
        values = hits[counted > 0] / counted[counted > 0]
        if len(values) and values.min() < values.max():
            low, high = np.percentile(values, [2.5, 97.5])
            found[name] = [round(float(low), _DECIMALS), round(float(high), _DECIMALS)]
        else:
            found[name] = wilson(float(sums[:, 2 * number].sum()), float(sums[:, 2 * number + 1].sum()))
    return found


def draws(papers: int) -> NDArray[np.int64]:
    """Return how often each paper is in each resample: int [RESAMPLES, papers]. Equal for equal ``papers``."""
    return np.concatenate(list(_draws(papers)))


def _draws(papers: int) -> Any:
    random = np.random.default_rng(SEED)
    for _ in range(0, RESAMPLES, _CHUNK):
        picked = random.integers(papers, size=(_CHUNK, papers)) + np.arange(_CHUNK)[:, None] * papers
        yield np.bincount(picked.ravel(), minlength=_CHUNK * papers).reshape(_CHUNK, papers)


def _totals(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns' sums in each resample of the rows: [RESAMPLES, columns]."""
    if not len(sums):
        return np.zeros((RESAMPLES, sums.shape[1]))
    return np.concatenate([drawn @ sums for drawn in _draws(len(sums))])
