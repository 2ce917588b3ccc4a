"""Curves of precision and recall by threshold, against plain counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.evaluation.curves import curve, hybrid, precision_recall, thinned

NAN = float("nan")
#: (score, right) of queries; few distinct scores, so that many are equal.
ANSWERS = st.lists(st.tuples(st.sampled_from([NAN, 0.25, 0.5, 0.7959, 0.875, 1.0]), st.booleans()), min_size=1, max_size=60)


def _arrays(answers: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    score = np.array([score for score, _ in answers])
    right = np.array([float(right and score == score) for score, right in answers])
    return score, right


@given(ANSWERS)
def test_a_point_counts_the_answers_at_or_above_its_threshold(answers: list[tuple[float, bool]]) -> None:
    score, right = _arrays(answers)
    thresholds, precision, recall = precision_recall(score, right, len(score))
    assert thresholds.tolist() == sorted({s for s in score.tolist() if s == s}, reverse=True)
    for threshold, p, r in zip(thresholds, precision, recall, strict=True):
        linked = score >= threshold
        assert p == pytest.approx(right[linked].sum() / linked.sum())
        assert r == pytest.approx(right[linked].sum() / len(score))


@given(ANSWERS)
def test_a_curve_ends_at_full_recall_and_contains_its_nearest_point(answers: list[tuple[float, bool]]) -> None:
    score, right = _arrays(answers)
    found = curve(score, right, 0.7959)
    points = found["points"]
    if right.any():
        assert points[-1]["recall"] == 1
        assert points[-1]["recall_of_all"] == pytest.approx(right.mean(), abs=1e-6)
        for name, recall in (("nearest", "recall"), ("nearest_of_all", "recall_of_all")):
            distance = [(1 - point["precision"]) ** 2 + (1 - point[recall]) ** 2 for point in points]
            assert distance[points.index(found[name])] <= min(distance) + 1e-5
    else:
        assert found["nearest"] is found["nearest_of_all"] is None
    linked = score >= 0.7959
    if linked.any():
        assert found["published"]["threshold"] == 0.7959
        assert found["published"]["precision"] == pytest.approx(right[linked].mean(), abs=1e-6)
        assert found["published"]["recall_of_all"] == pytest.approx(right[linked].sum() / len(score), abs=1e-6)
    else:
        assert found["published"] is None


def test_a_curve_without_answers_has_no_point() -> None:
    none = {"points": [], "nearest": None, "nearest_of_all": None, "published": None}
    assert curve(np.array([NAN]), np.array([0.0]), 0.5) == none
    assert curve(np.array([]), np.array([]), 0.5) == none


@given(st.integers(1, 3000), st.integers(4, 50), st.integers(0, 10**6))
def test_thinning_keeps_both_ends_and_the_required_points(count: int, limit: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    precision, recall = np.sort(random.random(count))[::-1], np.sort(random.random(count))
    must = [seed % count, (seed // 7) % count]
    rows = thinned(precision, recall, limit, must)
    assert rows == sorted(set(rows))
    assert {0, count - 1, *must} <= set(rows)
    assert len(rows) <= limit or count <= limit


def test_a_long_curve_is_thinned_in_its_flat_part() -> None:
    score = np.linspace(1, 0, 10_000)
    right = (np.arange(10_000) < 9_900).astype(float)
    points = curve(score, right, 0.5)["points"]
    assert len(points) <= 200
    assert min(point["precision"] for point in points) == pytest.approx(0.99)
    gaps = np.diff([point["recall"] for point in points])
    assert gaps.max() < 0.01


def test_the_hybrid_has_these_errors_and_shares() -> None:
    score = np.array([0.9, 0.6, 0.6, NAN])
    first, fallback = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0, 1.0])
    assert hybrid((score, first), fallback, [0.5, 0.75, 0.95]) == [
        {"threshold": 0.5, "error": 0.25, "fallback": 0.25},
        {"threshold": 0.75, "error": 0.0, "fallback": 0.75},
        {"threshold": 0.95, "error": 0.25, "fallback": 1.0},
    ]


@given(ANSWERS, st.floats(0, 1))
def test_a_higher_threshold_sends_more_queries_to_the_fallback(answers: list[tuple[float, bool]], threshold: float) -> None:
    score, right = _arrays(answers)
    below, above = hybrid((score, right), right, [threshold, (1 + threshold) / 2])
    assert below["fallback"] <= above["fallback"]
    assert below["error"] == above["error"] == pytest.approx(1 - right.mean(), abs=1e-6)
