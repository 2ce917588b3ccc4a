"""The reasons of a verdict: at most four phrases of the vocabulary, in order of contribution."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.verdict import Evidence
from reflink.verdict.evidence import TITLED, WRITTEN
from reflink.verdict.model import SUBJECTS, Model
from reflink.verdict.reasons import IDENTIFIER_ELSEWHERE, VOCABULARY, reasons
from tests.profiles import examples
from tests.reflink.verdict.evidences import evidences, models

weights = st.dictionaries(st.sampled_from([*SUBJECTS, "identifier"]), st.floats(-9, 9))


def phrases_of(found: Evidence, **contributions: float) -> tuple[str, ...]:
    return reasons(found, contributions)


def test_the_vocabulary_has_each_phrase_once() -> None:
    assert len(set(VOCABULARY)) == len(VOCABULARY)
    assert IDENTIFIER_ELSEWHERE in VOCABULARY


@settings(max_examples=examples(500))
@given(models, evidences)
def test_reasons_are_at_most_four_distinct_phrases_of_the_vocabulary(model: Model, found: Evidence) -> None:
    phrases = reasons(found, model.contributions(np.array(found)))
    assert len(phrases) <= 4
    assert len(set(phrases)) == len(phrases)
    assert set(phrases) <= set(VOCABULARY)


@given(evidences.filter(lambda found: not found.bare), weights)
def test_reasons_are_sorted_by_contribution_and_omit_weak_subjects(found: Evidence, given_: dict[str, float]) -> None:
    if math.isnan(found.identifier):
        given_.pop("identifier", None)  # as Model.contributions, which names it where something was compared
    alone = {subject: reasons(found, {subject: weight}) for subject, weight in given_.items()}
    ranked = sorted(given_, key=lambda subject: (-abs(given_[subject]), subject))
    each = tuple(phrase for subject in ranked for phrase in alone[subject])
    assert reasons(found, given_) == each[:4]
    for subject, weight in given_.items():
        assert abs(weight) >= 0.25 or not alone[subject]


def test_each_phrase_of_the_vocabulary_occurs() -> None:
    values = (math.nan, 0.0, 0.25, 0.5, 0.6, 0.75, 0.8, 1.0, 2.0)
    found = {IDENTIFIER_ELSEWHERE}
    for column, subject in (
        ("authors", "authors"), ("year", "year"), ("volume", "volume"), ("page", "page"), ("venue", "venue"),
        ("numbers", "numbers"), ("title_year", "numbers"), ("marks", "marks"), ("deposit", "deposit"),
        ("identifier", "identifier"),
    ):  # fmt: skip
        for value, first in product(values, (0.0, 1.0)):
            if column != "identifier" or value == value:
                more = {"first_author": first} if column == "authors" else {}
                for card in (TITLED, WRITTEN):
                    found.update(phrases_of(Evidence(**{column: value}, **more, card=card), **{subject: 1.0}))
    for value, cover, length, beginning, contained in product(values, values, (9.0, 60.0), (0.0, 1.0), values):
        for card in (0.0, 2.0):
            evidence = Evidence(title=value, cover=cover, length=length, beginning=beginning, contained=contained, card=card)
            found.update(phrases_of(evidence, title=1.0))
    for identifier in values:
        found.update(phrases_of(Evidence(bare=1.0, identifier=identifier)))
    assert found == set(VOCABULARY)


@pytest.mark.parametrize(
    ("found", "subject", "phrase"),
    [
        (Evidence(title=0.95, cover=1.0, length=60.0), "title", "title matches"),
        (Evidence(title=1.0, cover=1.0, length=9.0), "title", "short title matches"),
        (Evidence(title=0.7, cover=1.0, beginning=1.0, length=60.0), "title", "title matches but for a subtitle"),
        (Evidence(title=0.7, cover=0.75, length=60.0), "title", "title is similar"),
        (Evidence(title=0.1, cover=0.2, length=60.0), "title", "title differs"),
        (Evidence(contained=0.95), "title", "title found in the text"),
        (Evidence(contained=0.1), "title", "title not found in the text"),
        (Evidence(contained=0.1, card=0.0), "title", "title missing"),
        (Evidence(authors=1.0, first_author=1.0), "authors", "authors match"),
        (Evidence(authors=0.5, first_author=1.0), "authors", "first author matches, others differ"),
        (Evidence(authors=0.5, first_author=0.0), "authors", "first author differs"),
        (Evidence(authors=0.0, first_author=0.0), "authors", "no author in common"),
        (Evidence(year=1.0), "year", "year off by one"),
        (Evidence(year=7.0), "year", "year differs"),
        (Evidence(volume=0.0), "volume", "volume differs"),
        (Evidence(page=0.75), "page", "page differs in digits"),
        (Evidence(page=0.5), "page", "page matches, as others do"),
        (Evidence(page=1.0, volume=0.0), "page", "page matches"),
        (Evidence(numbers=2.0), "numbers", "numbers in the titles differ"),
        (Evidence(numbers=2.0, title_year=0.0), "numbers", "years in the titles differ"),
        (Evidence(marks=1.0), "marks", "one is an erratum, reply or summary"),
        (Evidence(identifier=1.0), "identifier", "identifier matches"),
        (Evidence(identifier=0.0), "identifier", "identifier differs"),
    ],
)
def test_the_phrase_of_a_subject(found: Evidence, subject: str, phrase: str) -> None:
    assert phrases_of(found, **{subject: -2.0}) == (phrase,)


def test_only_a_missing_title_is_a_reason() -> None:
    assert phrases_of(Evidence(year=0.0), authors=-3.0, venue=-2.0, year=1.0) == ("year matches",)
    assert phrases_of(Evidence(year=0.0), title=-3.0, year=1.0) == ("title missing", "year matches")


def test_agreement_in_nothing_gives_no_reasons() -> None:
    assert phrases_of(Evidence(marks=0.0, numbers=0.0), marks=9.0, numbers=9.0) == ()


def test_the_reasons_of_a_reference_with_only_identifiers() -> None:
    assert phrases_of(Evidence(bare=1.0, identifier=1.0), title=9.0) == ("identifier matches", "nothing else to compare")
    for identifier in (0.0, math.nan):
        assert phrases_of(Evidence(bare=1.0, identifier=identifier), title=9.0) == ("nothing to compare",)
