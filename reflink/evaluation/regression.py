"""Logistic regression whose weights keep the signs that their meaning demands, robust against wrong labels. numpy only."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_STEPS: Final = 40
_SWEEPS: Final = 400
_TOLERANCE: Final = 1e-7
#: Pairs this sure already shape no step.
_SURE: Final = 1e-7


def bounds(signs: NDArray[Any]) -> tuple[Floats, Floats]:
    """Least and greatest weight: agreement (1) never counts against, disagreement (-1) never for; 0 is free.

    Signs greater than 1 or less than -1 say more: that the weight is at least so far from 0, less one.
    """
    lower, upper = np.where(signs >= 1, signs - 1.0, -np.inf), np.where(signs <= -1, signs + 1.0, np.inf)
    return lower, upper


def probabilities(x: NDArray[Any], weights: Floats) -> Floats:
    """Of rows [n, d] with weights [d + 1], the intercept last."""
    odds = x.astype(np.float32) @ weights[:-1].astype(np.float32) + weights[-1]
    return np.asarray(1 / (1 + np.exp(-np.clip(odds.astype(np.float64), -50, 50))))


def fit_weights(
    x: NDArray[Any],
    y: Flags,
    penalty: float,
    lower: Floats,
    upper: Floats,
    start: Floats | None = None,
    counts: Floats | None = None,
) -> Floats:
    """Weights [d + 1], the intercept last, that minimise the log loss plus ``penalty / 2 * |weights|²`` within the bounds.

    ``x`` [n, d], ``y`` bool [n]; ``counts`` [n]: how often each row counts, once when None. The intercept is free and costs
    nothing. Newton's method; each step's quadratic is solved by coordinate descent within the bounds and shortened until the
    loss falls.
    """
    times = np.ones(len(y)) if counts is None else counts
    design = np.hstack([x.astype(np.float32), np.ones((len(x), 1), np.float32)])
    low, high = np.append(lower, -np.inf), np.append(upper, np.inf)
    ridge = np.append(np.full(x.shape[1], penalty), 0.0)
    if start is None:
        start = np.zeros(design.shape[1])
        start[-1] = np.log((times[y].sum() + 1) / (times[~y].sum() + 1))
    weights = np.clip(start, low, high)

    def odds_of(w: Floats) -> Floats:
        return np.asarray((design @ w.astype(np.float32)).astype(np.float64))

    def loss(w: Floats) -> float:
        odds = odds_of(w)
        return float(times @ np.logaddexp(0.0, np.where(y, -odds, odds)) + ridge @ (w * w) / 2)

    now = loss(weights)
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(odds_of(weights), -50, 50)))
        gradient = (design.T @ (times * (p - y)).astype(np.float32)).astype(np.float64) + ridge * weights
        curvature = times * p * (1 - p)
        unsure = curvature > _SURE
        part = design[unsure]
        hessian = ((part * curvature[unsure, None].astype(np.float32)).T @ part).astype(np.float64) + np.diag(ridge + 1e-6)
        step = _bounded_step(hessian, gradient, low - weights, high - weights)
        length = 1.0
        while (after := loss(weights + length * step)) > now and length > 1e-6:
            length /= 2
        if now - after <= _TOLERANCE * max(1.0, now):
            break
        weights, now = weights + length * step, after
    return weights


def _bounded_step(hessian: Floats, gradient: Floats, low: Floats, high: Floats) -> Floats:
    """The step in [low, high] that minimises ``gradient·step + step·hessian·step / 2``."""
    step = np.zeros(len(gradient))
    slope = gradient.copy()
    for _ in range(_SWEEPS):
        moved = 0.0
        for i in range(len(step)):
            to = min(max(step[i] - slope[i] / hessian[i, i], low[i]), high[i])
            if (change := to - step[i]) != 0.0:
                step[i] = to
                slope += change * hessian[i]
                moved = max(moved, abs(change))
        if moved < 1e-8:
            break
    return step


def train(
    x: Flags, y: Flags, signs: NDArray[Any], query: NDArray[np.int64], *, penalty: float, trim: float, rounds: int
) -> tuple[Floats, int]:  # fmt: skip
    """Weights [d + 1] from pairs, and how many were left out as wrongly labelled.

    ``x`` bool [n, d]; ``query`` int [n]: what each pair is of.

    Some identifiers in bibliographies are wrong, and such a pair, agreeing in nothing and labelled right, bends every weight.
    So after each of ``rounds`` fits, pairs labelled right with a probability below ``trim`` are left out of the next; and of
    their queries, what is labelled wrong and all but certain. Where the label is believable, nothing wrong is left out,
    however alike it is: errata, replies and later editions are what the weights are to learn.
    """
    lower, upper = bounds(signs)
    # Most pairs are alike in every feature: each kind is fitted once, and counts as often as it occurs.
    packed = np.ascontiguousarray(np.hstack([np.packbits(x, axis=1), y[:, None]]))
    _, first, kind = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True)
    kept, weights = np.ones(len(y), dtype=bool), None
    for turn in range(rounds + 1):
        counts = np.bincount(kind[kept], minlength=len(first)).astype(np.float64)
        weights = fit_weights(x[first], y[first], penalty, lower, upper, weights, counts)
        if turn < rounds:
            p = probabilities(x[first], weights)[kind]
            doubtful = y & (p < trim)
            believable = np.isin(query, query[y & ~doubtful])
            kept = ~doubtful & ~(~y & ~believable & (p > 1 - trim))
    assert weights is not None
    return weights, int((~kept).sum())
