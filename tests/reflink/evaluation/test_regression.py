"""The bounded logistic regression against scikit-learn's, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest

from reflink.evaluation.regression import fit_weights, standardise, train
from reflink.verdict.evidence import AGAINST, FEATURES, FOR


def _sample(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    z = random.normal(size=(n, d))
    odds = z @ random.normal(size=d) + 0.5
    return z, random.random(n) < 1 / (1 + np.exp(-odds))


@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
def test_without_bounds_it_is_the_regression_of_scikit_learn(penalty: float) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    z, y = _sample(500, 6, 1)
    free = np.full(6, np.inf)
    weights, intercept = fit_weights(z, y, penalty, -free, free)
    expected = linear_model.LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000).fit(z, y)
    np.testing.assert_allclose(weights, expected.coef_[0], atol=1e-4)
    assert intercept == pytest.approx(expected.intercept_[0], abs=1e-4)


def test_bounds_hold_and_no_feasible_neighbour_is_better() -> None:
    z, y = _sample(400, 5, 2)
    low, high = np.array([0, 0, 0, -np.inf, -np.inf]), np.array([np.inf, np.inf, np.inf, 0, 0])
    weights, intercept = fit_weights(z, y, 1.0, low, high)
    assert (weights >= low).all()
    assert (weights <= high).all()

    def loss(w: np.ndarray) -> float:
        odds = z @ w + intercept
        return float(np.logaddexp(0, np.where(y, -odds, odds)).sum() + w @ w / 2)

    for i in range(5):
        for change in (-1e-2, 1e-2):
            other = weights.copy()
            other[i] = np.clip(other[i] + change, low[i], high[i])
            assert loss(other) >= loss(weights) - 1e-6


def test_wrong_labels_are_left_out_and_signs_kept() -> None:
    random = np.random.default_rng(3)
    x = random.random((2000, len(FEATURES)))
    y = x[:, 0] > 0.5
    wrong = np.flatnonzero(x[:, 0] < 0.1)[:5]
    y[wrong] = True
    model, left_out = train(x, y, penalty=1.0, trim=0.02, rounds=2, identifier=5.0, contradiction=-3.0)
    assert left_out == 5
    for name, weight in zip(FEATURES, model.weight, strict=True):
        assert not (name in FOR and weight < 0)
        assert not (name in AGAINST and weight > 0)


def test_constant_columns_do_no_harm() -> None:
    mean, scale = standardise(np.array([[1.0, 2.0], [1.0, 4.0]]))
    assert mean.tolist() == [1.0, 3.0]
    assert scale.tolist() == [1.0, 1.0]
