"""The bounded logistic regression against scikit-learn, its bounds, and the exclusion of doubtful labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.evaluation.regression import bounds, fit_weights, probabilities, train
from tests.profiles import examples


def _sample(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return binary features, and labels drawn by random weights."""
    random = np.random.default_rng(seed)
    x = random.random((n, d)) < 0.5
    return x, random.random(n) < probabilities(x, np.append(random.normal(size=d) * 2, 0.5))


def _loss(x: np.ndarray, y: np.ndarray, weights: np.ndarray, penalty: float) -> float:
    odds = x @ weights[:-1] + weights[-1]
    return float(np.logaddexp(0, np.where(y, -odds, odds)).sum() + penalty * (weights[:-1] ** 2).sum() / 2)


def test_a_sign_is_a_bound() -> None:
    low, high = bounds(np.array([1, -1, 0]))
    assert low.tolist() == [0, -np.inf, -np.inf]
    assert high.tolist() == [np.inf, 0, np.inf]
    assert [side.tolist() for side in bounds(np.array([2.5, -4.0]))] == [[1.5, -np.inf], [np.inf, -3.0]]


@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
def test_without_bounds_the_fit_equals_scikit_learn(penalty: float) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    x, y = _sample(500, 6, 1)
    free = np.full(6, np.inf)
    weights = fit_weights(x, y, penalty, -free, free)
    expected = linear_model.LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000).fit(x, y)
    np.testing.assert_allclose(weights[:-1], expected.coef_[0], atol=1e-3)
    assert weights[-1] == pytest.approx(expected.intercept_[0], abs=1e-3)
    np.testing.assert_allclose(probabilities(x, weights), expected.predict_proba(x)[:, 1], atol=1e-3)


@settings(max_examples=examples(20))
@given(st.integers(0, 1000), st.lists(st.sampled_from([-1, 0, 1]), min_size=5, max_size=5))
def test_the_fit_is_a_minimum_within_its_bounds(seed: int, signs: list[int]) -> None:
    x, y = _sample(300, 5, seed)
    low, high = bounds(np.array(signs))
    weights = fit_weights(x, y, 1.0, low, high)
    assert (weights[:-1] >= low).all()
    assert (weights[:-1] <= high).all()
    for i in range(6):
        for change in (-2e-2, 2e-2):
            other = weights.copy()
            other[i] += change
            other[:-1] = np.clip(other[:-1], low, high)
            assert _loss(x, y, other, 1.0) >= _loss(x, y, weights, 1.0) - 1e-3


def test_a_count_equals_repeating_the_row() -> None:
    x, y = _sample(200, 4, 5)
    counts = np.random.default_rng(6).integers(0, 4, len(y))
    low, high = bounds(np.array([1, -1, 0, 0]))
    repeated = fit_weights(np.repeat(x, counts, axis=0), np.repeat(y, counts), 1.0, low, high)
    np.testing.assert_allclose(fit_weights(x, y, 1.0, low, high, counts=counts.astype(float)), repeated, atol=1e-3)


def test_the_fit_does_not_depend_on_the_start() -> None:
    x, y = _sample(400, 5, 4)
    low, high = bounds(np.array([1, 1, -1, -1, 0]))
    far = np.array([3.0, 0.0, -3.0, 0.0, 2.0, -5.0])
    np.testing.assert_allclose(fit_weights(x, y, 1.0, low, high, far), fit_weights(x, y, 1.0, low, high), atol=1e-2)


@pytest.mark.parametrize("label", [True, False])
def test_equal_labels_and_absent_features_give_finite_weights(label: bool) -> None:
    x = np.zeros((50, 3), bool)
    x[:, 0] = True
    weights = fit_weights(x, np.full(50, label), 1.0, *bounds(np.array([0, 1, -1])))
    assert np.isfinite(weights).all()
    assert weights[1:3].tolist() == [0, 0]
    assert ((probabilities(x, weights) > 0.9) == label).all()


def _train(x: np.ndarray, y: np.ndarray, query: np.ndarray, *, rounds: int) -> tuple[np.ndarray, int]:
    """Fit features that all have a positive sign."""
    return train(x, y, np.ones(6), query, weight=np.ones(len(y)), penalty=1.0, trim=0.02, rounds=rounds)


def _agreeing(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a right pair with most features and three wrong pairs with few, for each of ``n`` queries."""
    random = np.random.default_rng(3)
    right = np.tile([True, False, False, False], n)
    x = np.where(right[:, None], random.random((4 * n, 6)) < 0.9, random.random((4 * n, 6)) < 0.1)
    return x, right, np.repeat(np.arange(n), 4)


def test_right_labels_without_evidence_are_excluded_with_the_wrong_ones_of_the_query() -> None:
    x, y, query = _agreeing(500)
    plain, none = _train(x, y, query, rounds=0)
    assert none == 0
    # In five queries the label is another work: no feature of it holds, and all features of the cited work do.
    for wrong in range(5):
        x[4 * wrong], x[4 * wrong + 1] = False, True
    bent, none = _train(x, y, query, rounds=0)
    weights, left_out = _train(x, y, query, rounds=2)
    assert (none, left_out) == (0, 10)
    assert np.abs(weights - plain).max() < np.abs(bent - plain).max() / 2


def test_a_wrong_pair_with_all_features_is_kept_if_the_right_one_is_plausible() -> None:
    x, y, query = _agreeing(500)
    x[0], x[1] = True, True  # its erratum
    assert _train(x, y, query, rounds=2)[1] == 0


def test_equal_pairs_that_are_merged_give_the_same_weights() -> None:
    x, y, query = _agreeing(300)
    lower, upper = bounds(np.ones(6))
    np.testing.assert_allclose(_train(x, y, query, rounds=0)[0], fit_weights(x, y, 1.0, lower, upper), atol=1e-3)
    twice = fit_weights(np.vstack([x, x]), np.append(y, y), 1.0, lower, upper)
    again = _train(np.vstack([x, x]), np.append(y, y), np.append(query, query), rounds=0)[0]
    np.testing.assert_allclose(again, twice, atol=1e-3)


def test_bounds_are_kept_against_the_labels() -> None:
    x, y, query = _agreeing(200)
    signs = np.array([1, 1, -1, -4.0, 3.0, -1])
    weights, _ = train(x, ~y, signs, query, weight=np.ones(len(y)), penalty=1.0, trim=0.0, rounds=1)
    assert weights[[0, 1, 4]].tolist() == [0, 0, 2]
    assert (weights[[2, 5]] < 0).all()
    assert weights[3] <= -3
