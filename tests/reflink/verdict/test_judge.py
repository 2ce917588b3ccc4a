"""The shipped model on clear cases."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work
from reflink.verdict import Evidence, Model, evidence, judge
from reflink.verdict.judge import shipped
from reflink.verdict.reasons import VOCABULARY, reasons
from reflink.verdict.scorecard import FEATURES
from tests.reflink.verdict.awkward import pairs
from tests.reflink.verdict.evidences import SIGNS, evidences, model_of

TITLE = "Photosynthetic limitations in response to water stress in Mediterranean plants"
WORK = Work(
    id="doi:10.1/x", ids=Ids(doi="10.1/x"), title=TITLE, authors=("Galmés", "Medrano", "Flexas"), venue="New Phytologist",
    year=2007, volume="175", fpage="81",
)  # fmt: skip
RAW = f"Galmes J, Medrano H, Flexas J. {TITLE}. New Phytol. 2007;175:81"


#: Another locator.
OTHER = {"year": 2011, "volume": "190", "first_page": "444", "raw_text": None}


def reference(**changed: object) -> Reference:
    fields = {
        "id": "c#1", "citing": "c", "position": 1, "title": TITLE, "last_names": ["Galmes", "Medrano", "Flexas"],
        "venue": "New Phytol.", "year": 2007, "volume": "175", "first_page": "81", "raw_text": RAW,
    }  # fmt: skip
    return Reference.from_dict({name: value for name, value in {**fields, **changed}.items() if value is not None})


def written(text: str = RAW) -> Reference:
    return Reference(id="c#1", citing="c", position=1, raw_text=text)


def probability(of: Reference, work: Work = WORK, *, by_identifier: bool = False) -> float:
    return judge(evidence(of, work, by_identifier=by_identifier)).probability


@pytest.mark.parametrize(
    "of", [reference(), reference(raw_text=None), reference(title=None), reference(last_names=None), written()]
)
def test_the_cited_work_is_probable_whichever_fields_the_reference_has(of: Reference) -> None:
    assert probability(of) > 0.97


def test_a_verdict_has_reasons() -> None:
    assert "title matches" in judge(evidence(reference(raw_text=None), WORK)).reasons
    assert "title differs" in judge(evidence(reference(title="Wheat yields under heat", **OTHER), WORK)).reasons


def test_an_equal_title_with_another_locator_is_less_probable() -> None:
    assert probability(reference(**OTHER)) < probability(reference()) - 0.1


@pytest.mark.parametrize("title", [f"Erratum: {TITLE}", f"Reply to: {TITLE}", f"Data from: {TITLE}"])
def test_an_erratum_reply_or_data_set_is_not_the_work(title: str) -> None:
    verdict = judge(evidence(reference(title=title, year=2008, volume="176", first_page="220", raw_text=None), WORK))
    assert verdict.probability < 0.5
    assert "one is an erratum, reply or summary" in verdict.reasons


def test_another_work_of_the_same_authors_is_improbable() -> None:
    assert probability(reference(title="Wheat yields under heat", **OTHER)) < 0.01


def test_contradicting_fields_outrank_an_identifier() -> None:
    other = reference(title="Wheat yields under heat", last_names=["Smith"], year=1999, volume="3", first_page="7",
                      raw_text="Smith A. Wheat yields under heat. 1999;3:7", venue="Crop Sci")  # fmt: skip
    assert probability(other, by_identifier=True) < 0.5


def test_a_reference_with_only_an_identifier_is_decided_by_it() -> None:
    bare = Reference(id="c#1", citing="c", position=1, ids=Ids(doi="10.1/x"))
    verdict = judge(evidence(bare, WORK, by_identifier=True))
    assert verdict.probability > 0.97
    assert verdict.reasons == ("identifier matches", "nothing else to compare")
    assert probability(Reference(id="c#1", citing="c", position=1)) < 0.05


def test_identifiers_raise_or_lower_the_probability() -> None:
    silent = written("Galmes 2007 New Phytol.")
    same, other = (silent.model_copy(update={"ids": Ids(doi=doi)}) for doi in ("10.1/x", "10.1/other"))
    assert probability(other) < probability(silent) < probability(same)


def test_empty_records_do_not_match() -> None:
    assert probability(Reference(id="c#1", citing="c", position=1), Work(id="doi:10.1/x")) < 0.05
    assert probability(reference(), Work(id="doi:10.1/x")) < 0.05
    assert probability(written("Wheat"), WORK) < 0.05


@given(pairs(), st.booleans())
def test_any_two_records_have_a_probability_and_reasons(pair: tuple[Reference, Work], by_identifier: bool) -> None:
    verdict = judge(evidence(*pair, by_identifier=by_identifier))
    assert 0 < verdict.probability < 1
    assert set(verdict.reasons) <= set(VOCABULARY)


@given(evidences)
def test_a_given_model_replaces_the_shipped_one(found: Evidence) -> None:
    model, row = model_of(7), np.array(found)
    assert judge(found, model) == (model.probability(found), reasons(found, model.contributions(row)))


def test_shipped_points_have_the_signs_of_their_features() -> None:
    model = shipped()
    for card in model.points:
        for feature, sign, points in zip(FEATURES, SIGNS, card, strict=False):
            assert points * sign >= feature.least, feature.name
    assert model.contradiction < 0 < model.identifier


def test_fewer_links_reach_higher_shipped_log_odds() -> None:
    rates = shipped().rates
    for name in ("right", "wrong", "false"):
        values = [getattr(rate, name) for rate in rates]
        assert values == sorted(values, reverse=True)
        assert 0 <= values[-1] <= values[0] <= 1
    assert [rate.least for rate in rates] == sorted({rate.least for rate in rates}) != []
    assert rates[0].precision(0.5) > 0.5


def test_shipped_folds_exclude_each_paper_once() -> None:
    folds = json.loads(resources.files("reflink.verdict").joinpath("folds.json").read_bytes())["folds"]
    papers = [paper for fold in folds for paper in fold["papers"]]
    assert len(folds) == 5
    assert len(papers) == len(set(papers)) > 100
    for fold in folds:
        assert not np.array_equal(Model.from_dict(fold["model"]).points, shipped().points)
