"""The model: points sum to log-odds, and the file holds the same model."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reflink.errors import BadRecord
from reflink.verdict import Evidence, Model
from reflink.verdict.model import CARDS, SUBJECTS, prior, zeros
from reflink.verdict.rates import Rate
from reflink.verdict.scorecard import FEATURES, features
from tests.profiles import examples
from tests.reflink.verdict.evidences import evidences, model_of, models, rows

NOTHING = Model(*zeros(), 5.3, -3.0)


def odds(model: Model, found: Evidence, absent: float = 0.5) -> float:
    return float(model.log_odds(rows([found]), absent)[0])


@given(models, evidences.filter(lambda found: not found.bare))
def test_contributions_and_base_sum_to_the_log_odds(model: Model, found: Evidence) -> None:
    given_ = model.contributions(np.array(found))
    assert given_.keys() == set(SUBJECTS) | ({"identifier"} if found.identifier == found.identifier else set())
    assert math.isclose(model.base(int(found.card)) + sum(given_.values()), odds(model, found), abs_tol=1e-9)


@given(models, evidences)
def test_a_contribution_is_the_sum_of_the_features_of_its_subject(model: Model, found: Evidence) -> None:
    card, hold = int(found.card), features(rows([found]))[0]
    for at, subject in enumerate(SUBJECTS):
        points = sum(p for p, f, h in zip(model.points[card], FEATURES, hold, strict=False) if h and f.subject == subject)
        assert math.isclose(model.contributions(np.array(found))[subject], points - model.middle[card, at], abs_tol=1e-9)


@given(models, evidences, st.floats(0.01, 0.99))
def test_probabilities_are_the_logistic_of_the_log_odds(model: Model, found: Evidence, absent: float) -> None:
    (p,) = model.probabilities(rows([found]), absent)
    assert 0 < p < 1
    assert math.isclose(p, 1 / (1 + math.exp(-max(-30.0, min(30.0, odds(model, found, absent))))))
    assert model.probability(found) == model.probabilities(rows([found]))[0]


@given(models, st.lists(evidences, min_size=1, max_size=6))
def test_the_probability_of_a_pair_does_not_depend_on_the_batch(model: Model, found: list[Evidence]) -> None:
    alone = [model.probability(each) for each in found]
    np.testing.assert_allclose(model.probabilities(rows(found)), alone, rtol=1e-12)


def test_an_empty_batch_has_no_probabilities() -> None:
    assert NOTHING.probabilities(rows([])).shape == (0,)


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_the_prior_is_the_log_odds_of_presence(a: float, b: float) -> None:
    assert math.isclose(1 / (1 + math.exp(-prior(a))), 1 - a, rel_tol=1e-9)
    assert (prior(a) > prior(b)) == (a < b) or math.isclose(a, b)
    assert prior(0.5) == 0


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_a_share_outside_0_and_1_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        prior(share)


@given(models, evidences, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_higher_share_of_absent_works_lowers_the_log_odds(model: Model, found: Evidence, a: float, b: float) -> None:
    few, many = sorted((a, b))
    assert odds(model, found, few) >= odds(model, found, many)
    assert math.isclose(odds(model, found, few) - odds(model, found), prior(few), abs_tol=1e-9)


#: Columns whose increase raises the log-odds, each with the condition under which no feature combines it with another column.
STEPS = {
    "title": lambda e: not e.year >= 2,
    "equal": lambda e: True,
    "cover": lambda e: e.length >= 40,
    "beginning": lambda e: True,
    "contained": lambda e: e.length >= 40,
    "length": lambda e: e.card != 9,
    "authors": lambda e: e.group == 0,
    "agreeing": lambda e: True,
    "first_author": lambda e: e.second_author != 0,
    "second_author": lambda e: True,
    "venue": lambda e: e.page != 0 and e.volume != 0,
    "title_year": lambda e: True,
    "identifier": lambda e: True,
}


@settings(max_examples=examples(500))
@given(models, evidences.filter(lambda e: not e.bare), st.sampled_from(sorted(STEPS)), st.floats(0, 80))
def test_more_agreement_does_not_lower_the_probability(model: Model, found: Evidence, column: str, more: float) -> None:
    """Holds for all points with the signs of their features."""
    now = getattr(found, column)
    assume(now == now and STEPS[column](found))
    greater = max(now, more if column in ("length", "agreeing") else round(more / 80) if column == "identifier" else more / 80)
    if column in ("equal", "beginning", "title_year", "identifier"):
        greater = max(now, float(more >= 40))
    after = found._replace(**{column: greater})
    assert odds(model, after) >= odds(model, found) - 1e-9


@given(models, evidences.filter(lambda e: not e.bare))
def test_marks_other_numbers_and_distant_years_do_not_raise_the_probability(model: Model, found: Evidence) -> None:
    assert odds(model, found._replace(marks=1.0)) <= odds(model, found._replace(marks=0.0))
    for numbers in (1.0, 2.0):
        assert odds(model, found._replace(numbers=numbers)) <= odds(model, found._replace(numbers=0.0))
    assert odds(model, found._replace(year=9.0)) <= odds(model, found._replace(year=3.0)) + 1e-9


@given(models, evidences)
def test_identifiers_decide_a_reference_without_other_fields(model: Model, found: Evidence) -> None:
    bare = found._replace(bare=1.0)
    assert odds(model, bare) == (model.identifier if found.identifier == 1 else -model.identifier)


def test_each_card_has_its_own_points() -> None:
    model = model_of(1)
    for card in range(len(CARDS)):
        found = Evidence(title=1.0, equal=1.0, cover=1.0, length=99.0, card=float(card))
        expected = features(rows([found]))[0] @ model.points[card, :-1] + model.points[card, -1]
        assert math.isclose(odds(model, found), expected)


def test_a_model_of_zeros_gives_one_half() -> None:
    assert NOTHING.probability(Evidence(title=1.0)) == 0.5
    assert NOTHING.probability(Evidence(title=1.0, identifier=1.0)) > 0.99


@given(models)
def test_a_model_round_trips_through_json(model: Model) -> None:
    data = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    again = Model.from_dict(data)
    assert again.to_dict() == model.to_dict() == data
    np.testing.assert_array_equal(again.points, model.points)
    np.testing.assert_array_equal(again.middle, model.middle)


def test_the_file_omits_points_of_zero_and_rounds_the_others() -> None:
    points, middle = zeros()
    points[0, :2] = 1 / 3, 0.00001
    data = Model(points, middle, 5.3, -3.0, (Rate(0.5, 0.9, 0.01, 0.02),), {"pairs": 3}).to_dict()
    assert data["cards"]["titled"]["points"] == {FEATURES[0].name: 0.3333}
    assert (data["rates"], data["training"]) == ([[0.5, 0.9, 0.01, 0.02]], {"pairs": 3})


def test_a_model_of_other_features_is_refused() -> None:
    data = NOTHING.to_dict()
    for wrong in (
        {**data, "features": len(FEATURES) + 1},
        {**data, "features": ["title"]},
        {**data, "cards": {name: {**card, "points": {"unknown": 1.0}} for name, card in data["cards"].items()}},
        {"features": ["title"], "mean": [0.0], "weight": [1.0]},
    ):
        with pytest.raises(BadRecord, match="train it again"):
            Model.from_dict(wrong)


def test_models_are_hashed_by_identity() -> None:
    """The evaluation uses models as dictionary keys."""
    one, other = model_of(1), model_of(2)
    assert {one: "a", other: "b"}[one] == "a"


@given(models, st.lists(evidences, min_size=1, max_size=4), st.data())
def test_each_row_may_have_a_share_of_its_own(model: Model, found: list[Evidence], data: st.DataObject) -> None:
    shares = [data.draw(st.floats(0.01, 0.99)) for _ in found]
    together = model.log_odds(rows(found), np.array(shares))
    np.testing.assert_allclose(together, [odds(model, each, share) for each, share in zip(found, shares, strict=True)])
