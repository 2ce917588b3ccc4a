"""Fitting of the verdict's scorecards: signs, folds, the weight of each source, and the measured rates of links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reflink.evaluation import fitting
from reflink.evaluation.fitting import LEAST, MOST, balanced, fit, rates
from reflink.evaluation.pairs import Pairs
from reflink.verdict import Evidence, Model
from reflink.verdict.evidence import COLUMN, UNTITLED
from reflink.verdict.scorecard import FEATURES
from tests.reflink.verdict.evidences import rows


@pytest.fixture
def _once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit once: doubtful labels are the subject of test_regression."""
    monkeypatch.setattr(fitting, "ROUNDS", 0)


def test_the_model_separates_a_work_from_its_erratum_and_keeps_the_signs(pairs: Pairs, fitted: tuple[Model, int]) -> None:
    model, left_out = fitted
    assert left_out < len(pairs.y) / 10
    p = model.probabilities(pairs.rows)
    as_they_are = pairs.query < pairs.asked
    assert p[as_they_are & pairs.y].min() > p[as_they_are & ~pairs.y].max()
    for points in model.points[:UNTITLED]:
        assert all(value * feature.sign >= feature.least for feature, value in zip(FEATURES, points, strict=False))


def test_the_zero_of_a_subject_lies_between_right_and_wrong_pairs(pairs: Pairs, fitted: tuple[Model, int]) -> None:
    model, _ = fitted
    for card in range(UNTITLED):
        mine = pairs.rows[:, COLUMN["card"]] == card
        given = [model.contributions(row) for row in pairs.rows[mine]]
        for subject in ("authors", "title"):
            values = np.array([each[subject] for each in given])
            sides = values[pairs.y[mine]].mean(), values[~pairs.y[mine]].mean()
            assert sides[0] >= -1e-3 >= sides[1] - 2e-3
            assert abs(sum(sides)) < 0.01


@pytest.mark.usefixtures("_once")
def test_the_model_of_a_fold_does_not_depend_on_its_papers(pairs: Pairs, fitted: tuple[Model, int]) -> None:
    fold = int(pairs.fold[0])
    other = replace(pairs, rows=np.where((pairs.fold == fold)[:, None], pairs.rows.dtype.type(0), pairs.rows))
    without = fit(pairs, fold)[0].to_dict()
    assert fit(other, fold)[0].to_dict() == without != fitted[0].to_dict()


def made_up(given: list[tuple[int, float, bool, bool, int]], asked: int = 3) -> Pairs:
    """Return pairs from (query, similarity of the title, right, removed, source)."""
    evidences = rows([Evidence(title=title, card=0.0) for _, title, *_ in given])
    query, _, y, removed, source = (np.array(column) for column in zip(*given, strict=True))
    n = len(given)
    return Pairs(
        evidences, y.astype(bool), np.zeros(n, np.int64), query, removed.astype(bool), source, np.ones(n), asked
    )  # fmt: skip


class Titles:
    """Return the similarity of the title as log-odds."""

    def log_odds(self, given: Any) -> Any:
        return given[:, COLUMN["title"]]


def test_rates_are_of_the_best_remaining_pairs_in_both_open_worlds() -> None:
    measured = made_up(
        [
            (0, 3.0, True, False, 0), (0, 1.0, False, True, 0),  # right while its work is present, else another work
            (1, 2.0, True, True, 0), (1, 5.0, False, True, 0),  # wrong, since another work is more similar; else no candidate
            (2, -1.0, True, False, 0),  # right from a low probability on; else no candidate
            (5, 9.0, False, False, 0),  # another form, not measured
            (7, 9.0, False, False, 1),  # another source, not measured
        ]
    )  # fmt: skip
    found = {rate.least: rate[1:] for rate in rates(measured, [Titles()], np.array([False, True, False]))}  # type: ignore[list-item]
    third = pytest.approx(1 / 3, abs=1e-5)
    assert found[-1.0] == (pytest.approx(2 / 3, abs=1e-5), third, third)
    assert found[1.0] == (third, third, third)
    assert found[1.5] == (third, third, 0)
    assert found[3.5] == (0, third, 0)
    assert found[5.5] == (0, 0, 0)
    assert [*found] == [*LEAST]


def test_the_lighter_source_of_a_card_counts_as_much_up_to_a_limit() -> None:
    heavy = [(n, 0.9, True, False, 0) for n in range(6)] + [(0, 0.1, False, False, 0)]
    light = [(100 + n, 0.9, True, False, 1) for n in range(3)] + [(100, 0.1, False, False, 1)]
    pairs = made_up(heavy + light)
    everything = np.ones(len(pairs.y), bool)
    assert balanced(pairs, everything).tolist() == [1.0] * 7 + [2.0] * 4
    assert balanced(pairs, pairs.source == 1).tolist() == [1.0] * 4
    rare = everything & ~((pairs.source == 1) & (pairs.query > 100))
    assert balanced(pairs, rare).tolist() == [1.0] * 7 + [MOST] * 2
    assert pairs.weight.tolist() == [1.0] * 11, "the pairs are not changed"


def test_pairs_of_an_absent_reference_count_by_their_weight(pairs: Pairs) -> None:
    """The same wrong pairs with twice the weight make every link less probable."""
    heavier = replace(pairs, weight=np.where(pairs.y, 1.0, 2.0))
    p, less = (fit(each)[0].probabilities(pairs.rows[pairs.y]).mean() for each in (pairs, heavier))
    assert less < p
