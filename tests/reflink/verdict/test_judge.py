"""Evidence, the shipped model and its words."""

from __future__ import annotations

import json
import math
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work
from reflink.errors import BadRecord
from reflink.verdict import Evidence, Model, evidence, judge
from reflink.verdict.evidence import AGAINST, FEATURES, FOR, features
from reflink.verdict.judge import shipped

TITLE = "Photosynthetic limitations in response to water stress in Mediterranean plants"
WORK = Work(
    id="doi:10.1/x", ids=Ids(doi="10.1/x"), title=TITLE, authors=("Galmés", "Medrano", "Flexas"), venue="New Phytologist",
    year=2007, volume="175", fpage="81",
)  # fmt: skip


def reference(**changed: object) -> Reference:
    told = {
        "id": "c#1", "citing": "c", "position": 1, "title": TITLE, "last_names": ["Galmes", "Medrano", "Flexas"],
        "venue": "New Phytol.", "year": 2007, "volume": "175", "first_page": "81",
        "raw_text": f"Galmes J, Medrano H, Flexas J. {TITLE}. New Phytol. 2007;175:81",
    }  # fmt: skip
    return Reference.from_dict({name: value for name, value in {**told, **changed}.items() if value is not None})


def probability(of: Reference, work: Work = WORK, *, by_identifier: bool = False) -> float:
    return judge(evidence(of, work, by_identifier=by_identifier)).probability


def test_the_same_work_is_sure() -> None:
    verdict = judge(evidence(reference(), WORK))
    assert verdict.probability > 0.97
    assert "title matches" in verdict.reasons


def test_a_letter_of_the_same_title_elsewhere_is_less_likely() -> None:
    elsewhere = probability(reference(year=2011, volume="190", first_page="444"))
    assert elsewhere < probability(reference()) - 0.3


def test_an_erratum_is_not_the_work() -> None:
    erratum = reference(title=f"Erratum: {TITLE}", year=2008, volume="176", first_page="220")
    verdict = judge(evidence(erratum, WORK))
    assert verdict.probability < 0.5
    assert evidence(erratum, WORK).marks


def test_a_contradicted_identifier_loses() -> None:
    other = reference(title="Wheat yields under heat", last_names=["Smith"], year=1999, volume="3", first_page="7",
                      raw_text="Smith A. Wheat yields under heat. 1999;3:7", venue="Crop Sci")  # fmt: skip
    assert probability(other, by_identifier=True) < 0.5


def test_an_identifier_alone_is_enough() -> None:
    bare = Reference(id="c#1", citing="c", position=1, ids=Ids(doi="10.1/x"))
    verdict = judge(evidence(bare, WORK, by_identifier=True))
    assert verdict.probability > 0.97
    assert verdict.reasons == ("identifier matches", "nothing else to compare")
    assert probability(Reference(id="c#1", citing="c", position=1)) < 0.05


def test_identifiers_move_the_verdict_their_way() -> None:
    silent = reference(title=None, volume=None, first_page=None, raw_text="Galmes 2007")
    same, other = (silent.model_copy(update={"ids": Ids(doi=doi)}) for doi in ("10.1/x", "10.1/other"))
    assert probability(other) < probability(silent) < probability(same)


def test_reasons_name_the_values_that_differ() -> None:
    reasons = judge(evidence(reference(first_page="99", year=2011), WORK)).reasons
    assert "page differs (99 / 81)" in reasons
    assert "year differs (2011 / 2007)" in reasons


def test_empty_records_are_no_match_and_no_error() -> None:
    verdict = judge(evidence(Reference(id="c#1", citing="c", position=1), Work(id="doi:10.1/x")))
    assert verdict.probability < 0.05


def test_shipped_weights_have_the_signs_of_their_meaning() -> None:
    for name, weight in zip(FEATURES, shipped().weight, strict=True):
        assert not (name in FOR and weight < 0), name
        assert not (name in AGAINST and weight > 0), name
    assert set(FEATURES) >= FOR | AGAINST


def test_model_survives_json_and_other_features_are_refused() -> None:
    data = json.loads(json.dumps(shipped().to_dict()))
    assert Model.from_dict(data).to_dict() == data
    with pytest.raises(BadRecord, match="train it again"):
        Model.from_dict({**data, "features": ["title"]})


def test_shipped_folds_leave_each_paper_out_once() -> None:
    folds = json.loads(resources.files("reflink.verdict").joinpath("folds.json").read_bytes())["folds"]
    papers = [paper for fold in folds for paper in fold["papers"]]
    assert len(folds) == 5
    assert len(papers) == len(set(papers)) > 100
    for fold in folds:
        Model.from_dict(fold["model"])


shares = st.none() | st.floats(0, 1)
flags = st.none() | st.booleans()
evidences = st.builds(
    Evidence, title=shares, extended=st.booleans(), contained=shares, short=st.floats(0, 1), authors=shares,
    first_author=flags, year=st.none() | st.integers(-300, 300), volume=flags, page=flags, venue=shares,
    numbers=st.integers(0, 2), marks=st.booleans(), identifier=flags, bare=st.booleans(),
)  # fmt: skip


@settings(deadline=None)
@given(evidences)
def test_any_evidence_has_a_probability_and_reasons(found: Evidence) -> None:
    verdict = judge(found)
    assert 0 < verdict.probability < 1
    assert len(verdict.reasons) <= 4
    assert len(set(verdict.reasons)) == len(verdict.reasons)
    assert all(0 <= value <= 3 for value in features(found))


@settings(deadline=None)
@given(evidences.filter(lambda found: not found.bare))
def test_contributions_add_up_to_the_log_odds(found: Evidence) -> None:
    model = shipped()
    assert math.isclose(model.base + sum(model.contributions(found).values()), model.log_odds(found), abs_tol=1e-9)


texts = st.none() | st.text(max_size=60)


@settings(deadline=None)
@given(
    st.builds(
        Reference, id=st.just("c#1"), citing=st.just("c"), position=st.just(1), raw_text=st.text(max_size=200), title=texts,
        last_names=st.lists(st.text(max_size=20), max_size=4).map(tuple), venue=texts,
        year=st.none() | st.integers(-10, 9999), volume=texts, first_page=texts,
    ),
    st.builds(
        Work, id=st.just("doi:10.1/x"), title=texts, authors=st.lists(st.text(max_size=20), max_size=4).map(tuple),
        venue=texts, year=st.none() | st.integers(-10, 9999), volume=texts, fpage=texts,
    ),
)  # fmt: skip
def test_any_two_records_are_compared(of: Reference, work: Work) -> None:
    assert probability(of, work) < 1
