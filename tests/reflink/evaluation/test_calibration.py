"""Calibration and the sweep of thresholds, against scikit-learn and plain counting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from reflink.evaluation.calibration import BINS, calibration, error_of, reliability, sweep, thresholds
from reflink.evaluation.outcomes import Outcome
from reflink.evaluation.threshold import threshold_figures
from tests.reflink.evaluation.outcomes import drawn, outcome


def _calibrated(n: int, seed: int) -> list[Outcome]:
    random = np.random.default_rng(seed)
    p = np.round(random.beta(0.2, 0.1, n), 6)
    return [outcome(p=float(each), present=True, right=bool(random.random() < each**2)) for each in p]


@pytest.mark.parametrize(("strategy", "key"), [("quantile", "bins"), ("uniform", "bins_equal_width")])
def test_bins_equal_those_of_scikit_learn(strategy: str, key: str) -> None:
    outcomes = _calibrated(997, 3)
    rows = calibration(outcomes)[key]
    right, stated = calibration_curve(
        [each.best for each in outcomes], [each.link.probability for each in outcomes], n_bins=BINS, strategy=strategy
    )
    np.testing.assert_allclose([row["right"] for row in rows], right, atol=1e-6)
    np.testing.assert_allclose([row["probability"] for row in rows], stated, atol=1e-6)


@given(st.lists(drawn(), min_size=1, max_size=60))
def test_the_error_lies_between_the_overall_gap_and_one(outcomes: list[Outcome]) -> None:
    found = calibration(outcomes)
    kept = [each for each in outcomes if each.link.probability is not None]
    if not kept:
        assert found == {}
        return
    gap = abs(np.mean([each.link.probability for each in kept]) - np.mean([each.best for each in kept]))
    for name, bins in (("ece", "bins"), ("ece_equal_width", "bins_equal_width")):
        assert gap - 1e-5 <= found[name] <= 1
        assert sum(row["queries"] for row in found[bins]) == len(kept)
    counts = [found["scores"][name] for name in ("right", "wrong", "absent")]
    assert sum(map(sum, counts)) == len(kept)
    assert sum(counts[0]) == sum(each.best for each in kept)
    assert sum(counts[2]) == sum(not each.present for each in kept)


def test_a_probability_equal_to_the_share_of_right_answers_has_no_error() -> None:
    outcomes = [outcome(p=0.9, right=n > 0) for n in range(10)] + [outcome(None, p=0.2, best=n < 2) for n in range(10)]
    found = calibration(outcomes)
    assert (found["ece"], found["ece_equal_width"]) == (0, 0)
    assert calibration([outcome(p=0.9, right=n > 4) for n in range(10)])["ece"] == pytest.approx(0.4)


def test_equal_probabilities_are_in_one_bin_in_any_order() -> None:
    p = np.array([0.5] * 30 + [1.0] * 70)
    right = np.arange(100) % 3 == 0
    edges = np.quantile(p, np.linspace(0, 1, BINS + 1))
    rows = reliability(p, right, edges)
    assert [row["queries"] for row in rows] == [30, 70]
    assert error_of(rows) == error_of(reliability(p[::-1], right[::-1], edges))


@given(st.lists(drawn(), max_size=40))
def test_the_sweep_at_the_policys_threshold_gives_its_figures(outcomes: list[Outcome]) -> None:
    rows = {row["accept"]: row for row in thresholds(outcomes)}
    if not rows:
        assert all(each.link.probability is None for each in outcomes)
        return
    links = [each for each in outcomes if each.link.cited]
    absent = [each for each in outcomes if not each.present]
    assert rows[0.5]["precision"] == pytest.approx(sum(each.right for each in links) / max(1, len(links)), abs=1e-6)
    assert rows[0.5]["false_link"] == pytest.approx(
        sum(each.link.cited is not None for each in absent) / max(1, len(absent)), abs=1e-6
    )
    recalls = [row["recall"] for row in rows.values()]
    assert recalls == sorted(recalls, reverse=True)


def test_a_lower_threshold_links_refused_references() -> None:
    outcomes = [outcome(p=0.9, right=True), outcome(None, p=0.3, best=True), outcome(None, p=0.1, present=False)]
    rows = {row["accept"]: row for row in thresholds(outcomes)}
    assert (rows[0.5]["recall"], rows[0.3]["recall"]) == (0.5, 1)
    assert (rows[0.15]["false_link"], rows[0.1]["false_link"]) == (0, 1)
    assert rows[0.95]["precision"] == 0


def test_a_sweep_of_no_outcomes_is_zero() -> None:
    none = np.zeros(0)
    assert sweep(none, none.astype(bool), none.astype(bool), 0, 0, [0.5])[0]["f1"] == 0


def test_the_published_rule_links_from_its_threshold_on() -> None:
    def near(score: float, *, present: bool = True, right: bool = True) -> Outcome:
        made = outcome(p=None, present=present, right=right)
        return Outcome(made.rid, made.kind, present, right, made.link.model_copy(update={"score": score}), right)

    outcomes = [near(0.95), near(0.9), near(0.7), near(0.85, present=False, right=False), outcome(None, p=None, refused=None)]
    found = threshold_figures(outcomes, 0.8)
    assert (found["threshold"], found["precision"], found["recall"], found["false_link"]) == (0.8, 0.666667, 0.5, 1)
    assert found["best"]["threshold"] == 0.5
    assert found["thresholds"][-1]["recall"] == 0


def test_a_candidate_that_a_rule_refuses_is_left_out() -> None:
    kept = [outcome(right=True, p=0.9), outcome(None, p=0.1)]
    for reason in ("ambiguous", "other-version"):
        ruled = outcome(None, p=0.99)
        ruled = replace(ruled, link=ruled.link.model_copy(update={"unresolved": reason}))
        assert calibration([*kept, ruled]) == calibration(kept)
        assert thresholds([*kept, ruled])[0]["precision"] == thresholds(kept)[0]["precision"]
