"""Logistic regression whose weights keep the signs that their meaning demands, robust against wrong labels. numpy only."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from reflink.verdict import Model
from reflink.verdict.evidence import AGAINST, FEATURES, FOR

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_STEPS: Final = 60
_SWEEPS: Final = 400
_TOLERANCE: Final = 1e-9


def bounds() -> tuple[Floats, Floats]:
    """Least and greatest weight of each of FEATURES: agreement never counts against a link, disagreement never for it."""
    lower = np.array([0.0 if name in FOR else -np.inf for name in FEATURES])
    upper = np.array([0.0 if name in AGAINST else np.inf for name in FEATURES])
    return lower, upper


def standardise(x: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column; 1 for a constant one."""
    scale = x.std(axis=0)
    return x.mean(axis=0), np.where(scale > 0, scale, 1.0)


def fit_weights(z: Floats, y: Flags, penalty: float, lower: Floats, upper: Floats) -> tuple[Floats, float]:
    """Weights [d] and intercept that minimise the log loss plus ``penalty / 2 * |weights|²`` within the bounds.

    ``z`` float [n, d], standardised; ``y`` bool [n]. Newton's method; each step's quadratic is solved by coordinate descent
    within the bounds and shortened until the loss falls.
    """
    design = np.hstack([z, np.ones((len(z), 1))])
    low, high = np.append(lower, -np.inf), np.append(upper, np.inf)
    ridge = np.append(np.full(z.shape[1], penalty), 0.0)
    weights = np.zeros(design.shape[1])
    weights[-1] = np.log((y.sum() + 1) / ((~y).sum() + 1))

    def loss(w: Floats) -> float:
        odds = design @ w
        return float(np.logaddexp(0.0, np.where(y, -odds, odds)).sum() + ridge @ (w * w) / 2)

    now = loss(weights)
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(design @ weights, -50, 50)))
        gradient = design.T @ (p - y) + ridge * weights
        hessian = (design * (p * (1 - p))[:, None]).T @ design + np.diag(ridge + 1e-9)
        step = _bounded_step(hessian, gradient, low - weights, high - weights)
        length = 1.0
        while (after := loss(weights + length * step)) > now and length > 1e-6:
            length /= 2
        if now - after <= _TOLERANCE * max(1.0, now):
            break
        weights, now = weights + length * step, after
    return weights[:-1], float(weights[-1])


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
        if moved < 1e-10:
            break
    return step


def train(
    x: Floats, y: Flags, *, penalty: float, trim: float, rounds: int, identifier: float, contradiction: float
) -> tuple[Model, int]:
    """A model of FEATURES from pairs, and how many were left out as wrongly labelled.

    ``x`` float [n, len(FEATURES)]; ``y`` bool [n]. Some identifiers in bibliographies are wrong, and such a pair, agreeing in
    nothing and labelled right, bends every weight. So after each of ``rounds`` fits, pairs whose label has a probability
    below ``trim`` are left out of the next.
    """
    mean, scale = standardise(x)
    z, kept = (x - mean) / scale, np.ones(len(y), dtype=bool)
    for turn in range(rounds + 1):
        weights, intercept = fit_weights(z[kept], y[kept], penalty, *bounds())
        if turn < rounds:
            p = 1 / (1 + np.exp(-np.clip(z @ weights + intercept, -50, 50)))
            kept = np.where(y, p, 1 - p) >= trim
    model = Model(tuple(mean.tolist()), tuple(scale.tolist()), tuple(weights.tolist()), intercept, identifier, contradiction)
    return model, int((~kept).sum())
