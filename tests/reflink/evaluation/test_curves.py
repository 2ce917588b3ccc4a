"""Curves by hand, and their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.evaluation.curves import curve, hybrid, nearest, precision_recall, thinned

NAN = float("nan")
#: (score, right) of queries; few distinct scores, so that many are equal.
ANSWERS = st.lists(st.tuples(st.sampled_from([NAN, 0.25, 0.5, 0.7959, 0.875, 1.0]), st.booleans()), min_size=1, max_size=60)


def _arrays(answers: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    score = np.array([score for score, _ in answers])
    right = np.array([float(right and score == score) for score, right in answers])
    return score, right


def test_points_by_hand() -> None:
    score, right = _arrays([(0.9, True), (0.8, True), (0.8, False), (0.4, True), (NAN, False)])
    thresholds, precision, recall = precision_recall(score, right, 5)
    assert thresholds.tolist() == [0.9, 0.8, 0.4]
    assert precision.tolist() == [1, 2 / 3, 3 / 4]
    assert recall.tolist() == [1 / 5, 2 / 5, 3 / 5]
    assert nearest(precision, recall) == 2


@given(ANSWERS)
def test_every_point_counts_the_answers_from_its_threshold_on(answers: list[tuple[float, bool]]) -> None:
    score, right = _arrays(answers)
    thresholds, precision, recall = precision_recall(score, right, len(score))
    assert thresholds.tolist() == sorted({s for s in score.tolist() if s == s}, reverse=True)
    for threshold, p, r in zip(thresholds, precision, recall, strict=True):
        linked = score >= threshold
        assert p == pytest.approx(right[linked].sum() / linked.sum())
        assert r == pytest.approx(right[linked].sum() / len(score))


@given(ANSWERS)
def test_the_curve_ends_with_all_that_is_right_and_nearest_is_on_it(answers: list[tuple[float, bool]]) -> None:
    score, right = _arrays(answers)
    told = curve(score, right, 0.7959)
    points = told["points"]
    if right.any():
        assert points[-1]["recall"] == 1
        assert points[-1]["recall_of_all"] == pytest.approx(right.mean(), abs=1e-6)
        for name, recall in (("nearest", "recall"), ("nearest_of_all", "recall_of_all")):
            distance = [(1 - point["precision"]) ** 2 + (1 - point[recall]) ** 2 for point in points]
            assert distance[points.index(told[name])] <= min(distance) + 1e-5
    else:
        assert told["nearest"] is told["nearest_of_all"] is None
    linked = score >= 0.7959
    if linked.any():
        assert told["published"]["threshold"] == 0.7959
        assert told["published"]["precision"] == pytest.approx(right[linked].mean(), abs=1e-6)
        assert told["published"]["recall_of_all"] == pytest.approx(right[linked].sum() / len(score), abs=1e-6)
    else:
        assert told["published"] is None


def test_without_any_answer_there_is_no_point() -> None:
    none = {"points": [], "nearest": None, "nearest_of_all": None, "published": None}
    assert curve(np.array([NAN]), np.array([0.0]), 0.5) == none
    assert curve(np.array([]), np.array([]), 0.5) == none


@given(st.integers(1, 3000), st.integers(4, 50), st.integers(0, 10**6))
def test_thinning_keeps_both_ends_and_what_it_must(count: int, most: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    precision, recall = np.sort(random.random(count))[::-1], np.sort(random.random(count))
    must = [seed % count, (seed // 7) % count]
    rows = thinned(precision, recall, most, must)
    assert rows == sorted(set(rows))
    assert {0, count - 1, *must} <= set(rows)
    assert len(rows) <= most or count <= most


def test_a_long_curve_is_thinned_where_it_is_flat_not_where_it_bends() -> None:
    score = np.linspace(1, 0, 10_000)
    right = (np.arange(10_000) < 9_900).astype(float)
    points = curve(score, right, 0.5)["points"]
    assert len(points) <= 200
    assert min(point["precision"] for point in points) == pytest.approx(0.99)
    gaps = np.diff([point["recall"] for point in points])
    assert gaps.max() < 0.01


def test_the_hybrid_by_hand() -> None:
    score = np.array([0.9, 0.6, 0.6, NAN])
    first, fallback = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0, 1.0])
    assert hybrid((score, first), fallback, [0.5, 0.75, 0.95]) == [
        {"threshold": 0.5, "error": 0.25, "fallback": 0.25},
        {"threshold": 0.75, "error": 0.0, "fallback": 0.75},
        {"threshold": 0.95, "error": 0.25, "fallback": 1.0},
    ]


@given(ANSWERS, st.floats(0, 1))
def test_the_more_is_asked_of_the_first_the_more_gets_to_the_fallback(
    answers: list[tuple[float, bool]], threshold: float
) -> None:
    score, right = _arrays(answers)
    below, above = hybrid((score, right), right, [threshold, (1 + threshold) / 2])
    assert below["fallback"] <= above["fallback"]
    assert below["error"] == above["error"] == pytest.approx(1 - right.mean(), abs=1e-6)
