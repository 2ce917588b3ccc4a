"""Logistic regression with bounds on the signs of its weights, robust against wrong labels. Uses numpy only."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_STEPS: Final = 40
_SWEEPS: Final = 400
_TOLERANCE: Final = 1e-7
#: Rows of curvature up to this, whose probability is all but certain, are left out of the Hessian.
_SURE: Final = 1e-7


def bounds(signs: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the lower and upper bounds of the weights.

    Agreement (1) never counts against a link, disagreement (-1) never for it; 0 is free. A sign beyond 1 or -1 sets a minimum
    absolute weight: the sign's absolute value less 1.
    """
    lower, upper = np.where(signs >= 1, signs - 1.0, -np.inf), np.where(signs <= -1, signs + 1.0, np.inf)
    return lower, upper


def probabilities(x: NDArray[Any], weights: Floats) -> Floats:
    """Return the probabilities [n] of rows [n, d] with weights [d + 1], the intercept last."""
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
    """Return the weights [d + 1], the intercept last, that minimise the penalised log loss within the bounds.

    The penalty is ``penalty / 2 * |weights|²``. ``x`` [n, d], ``y`` bool [n]; ``counts`` [n]: multiplicity of each row, 1 if
    None. The intercept has neither bounds nor penalty. Newton's method: coordinate descent minimises each step's quadratic
    within the bounds, and the step is halved until the loss does not rise.
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
    """Return the step in [low, high] that minimises ``gradient·step + step·hessian·step / 2``."""
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
    x: Flags,
    y: Flags,
    signs: NDArray[Any],
    query: NDArray[np.int64],
    *,
    weight: Floats,
    penalty: float,
    trim: float,
    rounds: int,
) -> tuple[Floats, int]:
    """Return weights [d + 1] trained on pairs, and the number of pairs left out as wrongly labelled.

    ``x`` bool [n, d]; ``query`` int [n]: the query of each pair; ``weight`` float [n]: how often it counts.

    Some identifiers in bibliographies are wrong. Such a pair agrees in no field but is labelled right, and distorts every
    weight. After each of ``rounds`` fits, the next fit therefore leaves out pairs labelled right with a probability below
    ``trim`` and, of queries without another right pair, pairs labelled wrong with a probability above ``1 - trim``. In other
    queries no wrong pair is left out, however similar: the weights must learn errata, replies and later editions.
    """
    lower, upper = bounds(signs)
    # Most pairs have the same features as others: fit each distinct row once, with its summed weight.
    packed = np.ascontiguousarray(np.hstack([np.packbits(x, axis=1), y[:, None]]))
    _, first, kind = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True)
    kept, weights = np.ones(len(y), dtype=bool), None
    for turn in range(rounds + 1):
        counts = np.bincount(kind[kept], weight[kept], len(first)).astype(np.float64)
        weights = fit_weights(x[first], y[first], penalty, lower, upper, weights, counts)
        if turn < rounds:
            p = probabilities(x[first], weights)[kind]
            doubtful = y & (p < trim)
            believable = np.isin(query, query[y & ~doubtful])
            kept = ~doubtful & ~(~y & ~believable & (p > 1 - trim))
    assert weights is not None
    return weights, int((~kept).sum())
