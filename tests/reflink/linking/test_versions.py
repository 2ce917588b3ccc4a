"""Other versions of a cited work: the contradictions that exclude a link, and the relations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Reference, VersionRelation, Work
from reflink.linking.versions import is_contradicted, relation
from reflink.verdict import evidence
from reflink.verdict.evidence import COLUMN, Floats
from tests.profiles import examples

TITLE = "Reporting trials of irrigation in dry years: a statement of the panel"
FIELDS: dict[str, Any] = {"title": TITLE, "venue": "Field Crops Research", "year": 2010, "volume": "12"}
REFERENCE = Reference(id="r", citing="c", position=1, last_names=("Flexas", "Bota", "Galmes"), first_page="101", **FIELDS)
WORK = Work(id="doi:10.1/1", authors=("Flexas", "Bota", "Galmes"), fpage="101", **FIELDS)
ELSEWHERE = {"venue": "Annals of Agronomy", "volume": "7", "fpage": "55"}
TEXT = f"Flexas J, Bota J, Galmes J. {TITLE}. Field Crops Res 2010; 12: 101-110."


def row(reference: Reference, work: Work) -> Floats:
    return np.array(evidence(reference, work))


def contradicted(reference: Reference = REFERENCE, **changed: Any) -> bool:
    work = WORK.model_copy(update=changed)
    return is_contradicted(reference, work, row(reference, work))


def related(reference: Reference = REFERENCE, **changed: Any) -> VersionRelation | None:
    work = WORK.model_copy(update=changed)
    return relation(reference, work, row(reference, work))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, False),
        ({"fpage": "55"}, False),
        ({"fpage": "55", "volume": "7"}, False),
        (ELSEWHERE, True),
        ({**ELSEWHERE, "fpage": "101"}, False),
        ({**ELSEWHERE, "fpage": None}, False),
        # A paper that was cited before it was printed, and a letter under the title of the paper.
        ({"fpage": "55", "volume": "13", "year": 2011}, False),
        ({"fpage": "55", "volume": "13", "year": 2011, "authors": ("Flexas", "Galmes")}, True),
    ],
)
def test_a_page_and_two_other_contradictions_exclude_a_link(changed: dict[str, Any], expected: bool) -> None:
    assert contradicted(**changed) is expected


def test_a_work_with_an_identifier_of_the_reference_is_not_contradicted() -> None:
    ids = Ids(doi="10.1/1")
    assert not contradicted(REFERENCE.model_copy(update={"ids": ids}), ids=ids, **ELSEWHERE)


@pytest.mark.parametrize(
    ("text", "changed", "expected"),
    [
        (TEXT, {}, False),
        (TEXT, ELSEWHERE, True),
        (TEXT, {**ELSEWHERE, "venue": "Field Crops Research"}, False),
        (TEXT, {**ELSEWHERE, "venue": None}, False),
        (TEXT, {**ELSEWHERE, "fpage": "101"}, False),
        (TEXT.replace(" 2010; 12: 101-110", " in press"), ELSEWHERE, False),
    ],
)
def test_a_text_with_another_place_and_journal_excludes_a_link(text: str, changed: dict[str, Any], expected: bool) -> None:
    assert contradicted(Reference(id="r", citing="c", position=1, raw_text=text), **changed) is expected


@pytest.mark.parametrize(
    ("cited", "changed", "expected"),
    [
        ({}, {}, None),
        ({}, ELSEWHERE, "version-of"),
        ({}, {**ELSEWHERE, "title": "Wheat yields and heat in dry years of the panel"}, None),
        ({}, {**ELSEWHERE, "authors": ("Nobody", "Noone")}, None),
        ({"title": "Wheat"}, {**ELSEWHERE, "title": "Wheat"}, None),
        ({}, {"title": f"Erratum: {TITLE}", "fpage": "301"}, "corrects"),
        ({"title": f"Erratum: {TITLE}"}, {"fpage": "301"}, "corrected-by"),
        ({}, {"title": f"Reply to {TITLE}", "fpage": "301", "authors": ("Nobody",)}, "comments-on"),
        ({"title": f"Comment on {TITLE}"}, {"fpage": "301"}, "commented-by"),
        ({}, {"ids": Ids(doi="10.1056/nejmc1600000"), "fpage": "301", "year": 2011, "volume": "13"}, "comments-on"),
        ({"title": f"{TITLE}, 2010"}, {"title": f"{TITLE}, 2011", "year": 2011, "volume": "13", "fpage": "9"}, "instalment-of"),
        ({}, {"venue": "bioRxiv", "volume": None, "fpage": None, "year": 2009}, "preprint-of"),
        ({}, {"venue": None, "volume": None, "fpage": None, "year": 2009, "ids": Ids(arxiv="0901.00001")}, "preprint-of"),
        ({"venue": "bioRxiv", "volume": None, "first_page": None, "year": 2009}, {}, "has-preprint"),
        ({}, {"volume": "14", "year": 2012}, "update-of"),
        ({"year": 2014}, {"volume": "8"}, "updated-by"),
    ],
)
def test_relations(cited: dict[str, Any], changed: dict[str, Any], expected: str | None) -> None:
    assert related(REFERENCE.model_copy(update=cited), **changed) == expected


values = st.one_of(st.just(float("nan")), st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 60.0]), st.floats(0, 3))


@settings(max_examples=examples(300))
@given(st.lists(values, min_size=len(COLUMN), max_size=len(COLUMN)), st.text(max_size=40), st.none() | st.text(max_size=20))
def test_any_evidence_has_a_decision(columns: list[float], text: str, venue: str | None) -> None:
    reference, found = REFERENCE.model_copy(update={"raw_text": text}), np.array(columns)
    work = WORK.model_copy(update={"venue": venue})
    excluded = is_contradicted(reference, work, found)
    relation(reference, work, found)
    if excluded:
        assert found[COLUMN["page"]] <= 0.25
        assert found[COLUMN["identifier"]] != 1
