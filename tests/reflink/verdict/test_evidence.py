"""The evidence of a pair equals the plain definition, is bounded and symmetric."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work
from reflink.verdict import Evidence, evidence
from reflink.verdict.evidence import COLUMN, TAGGED, TITLED, UNTITLED, WRITTEN
from reflink.verdict.rules import CUT, NEAR, UNSEEN, WEAK
from tests.profiles import examples
from tests.reflink.verdict import plain
from tests.reflink.verdict.awkward import field, names, pairs, short, year

#: The values of columns with few values; the minimum and maximum of the others.
VALUES = {
    "equal": {0, 1}, "beginning": {0, 1}, "group": {0, 1}, "title_year": {0, 1}, "marks": {0, 1}, "identifier": {0, 1},
    "bare": {0, 1}, "numbers": {0, 1, 2}, "card": {TITLED, TAGGED, WRITTEN, UNTITLED}, "volume": {0, UNSEEN, CUT, 1},
    "page": {0, UNSEEN, WEAK, NEAR, 1}, "first_author": {0, 0.8, 1}, "second_author": {0, 0.8, 1}, "deposit": {0, 1},
}  # fmt: skip
BOUNDS = {
    "title": (0, 1), "cover": (0, 1), "contained": (0, 1), "length": (0, math.inf), "authors": (0, 1), "agreeing": (0, 40),
    "year": (0, math.inf), "venue": (0, 1),
}  # fmt: skip
TITLE = "Photosynthetic limitations in response to water stress"
WORK = Work(
    id="doi:10.1/x", ids=Ids(doi="10.1/x"), title=TITLE, authors=("Galmés", "Medrano", "Flexas"), venue="New Phytologist",
    year=2007, volume="175", fpage="81",
)  # fmt: skip


def cite(**fields: object) -> Reference:
    return Reference.from_dict({"id": "c#1", "citing": "c", "position": 1, **fields})


def silent(found: Evidence) -> set[str]:
    return {name for name, value in found._asdict().items() if math.isnan(value)}


@settings(max_examples=examples(1000))
@given(pairs(), st.booleans())
def test_evidence_equals_the_plain_definition(pair: tuple[Reference, Work], by_identifier: bool) -> None:
    found = evidence(*pair, by_identifier=by_identifier)._asdict()
    expected = plain.evidence(*pair, by_identifier=by_identifier)._asdict()
    for name, value in found.items():
        assert math.isclose(value, expected[name], abs_tol=1e-12) or math.isnan(value + expected[name]), name
        assert math.isnan(value) == math.isnan(expected[name]), name


@given(pairs(), st.booleans())
def test_evidence_is_within_its_bounds(pair: tuple[Reference, Work], by_identifier: bool) -> None:
    found = evidence(*pair, by_identifier=by_identifier)
    assert set(VALUES) | set(BOUNDS) == set(COLUMN) == set(found._fields)
    for name in set(COLUMN) - silent(found):
        value = getattr(found, name)
        if name in VALUES:
            assert value in VALUES[name], name
        else:
            assert BOUNDS[name][0] <= value <= BOUNDS[name][1], name
    if found.title == found.title:
        assert found.title <= found.cover or math.isclose(found.title, found.cover)
        assert not (found.equal and (found.title, found.cover) != (1, 1))
        assert not (found.equal and (found.beginning or found.numbers))
    if found.authors == found.authors:
        assert (found.authors == 0) <= (found.agreeing == 0) or math.isclose(found.authors, 0)
        assert found.agreeing >= found.authors - 1e-12


record = st.tuples(field, names, field, year, short, short)


@settings(max_examples=examples(500))
@given(record, record)
def test_evidence_is_symmetric(one: tuple, other: tuple) -> None:  # type: ignore[type-arg]
    """Only for fields, since a work has no citation text and no chapter.

    A reference with venue, year, volume and page alone has rules of its own, which a work cannot have.
    """

    def pair(a: tuple, b: tuple) -> Evidence:  # type: ignore[type-arg]
        reference = cite(title=a[0], last_names=a[1], venue=a[2], year=a[3], volume=a[4], first_page=a[5])
        work = Work(id="x", title=b[0], authors=b[1], venue=b[2], year=b[3], volume=b[4], fpage=b[5])
        found = evidence(reference, work)
        assume(found.card != UNTITLED)
        found = found._replace(length=0, group=0, bare=0, card=0)
        # For lists of equal length, the names of the reference are searched among those of the work.
        return found._replace(authors=0, agreeing=0) if len(a[1]) == len(b[1]) else found

    np.testing.assert_allclose(pair(one, other), pair(other, one), rtol=0, atol=1e-12)


@given(pairs())
def test_a_record_agrees_with_itself_in_all_its_fields(pair: tuple[Reference, Work]) -> None:
    work = pair[1]
    reference = cite(
        title=work.title, last_names=work.authors, venue=work.venue, year=work.year, volume=work.volume, first_page=work.fpage,
        ids=work.ids.to_dict(),
    )  # fmt: skip
    found = evidence(reference, work)
    best = {"title": 1, "equal": 1, "cover": 1, "year": 0, "volume": 1, "venue": 1, "numbers": 0, "title_year": 1, "marks": 0,
            "identifier": 1, "beginning": 0}  # fmt: skip
    for name, value in best.items():
        assert getattr(found, name) == value or name in silent(found), name
    assert found.page in (1, WEAK) or "page" in silent(found)


def test_the_evidence_of_a_pair() -> None:
    fields = {"title": f"{TITLE} in plants", "last_names": ["Galmes", "Flexas"], "venue": "New Phytol.", "year": 2008}
    found = evidence(cite(**fields, volume="175", first_page="81"), WORK)
    present = found.present()
    assert present.keys() == set(COLUMN) - {"contained", "title_year", "deposit", "identifier"}
    assert (present["cover"], present["equal"], present["beginning"], present["length"]) == (
        1,
        0,
        0,
        len(TITLE.replace(" ", "")),
    )
    assert (present["authors"], present["agreeing"], present["first_author"]) == (1, 2, 1)
    assert (present["year"], present["volume"], present["page"], present["venue"]) == (1, 1, 1, 1)
    assert (present["numbers"], present["marks"], present["group"], present["bare"], present["card"]) == (0, 0, 0, 0, TITLED)


@pytest.mark.parametrize(
    ("fields", "card"),
    [
        ({"title": "Wheat"}, TITLED),
        ({"title": "Wheat", "venue": "Crop Sci", "volume": "1"}, TITLED),
        ({"venue": "Crop Sci", "volume": "1"}, TAGGED),
        ({"last_names": ["Li"]}, TAGGED),
        ({"raw_text": "Li. Wheat. Crop Sci"}, WRITTEN),
        ({"raw_text": "Crop Sci. 1999 Mar;3(2):9-12"}, UNTITLED),
        ({"venue": "Crop Sci", "year": 1999, "volume": "3", "first_page": "9"}, UNTITLED),
        ({"venue": "Crop Sci", "year": 1999, "volume": "3", "first_page": "9", "raw_text": "Li. Wheat. Crop Sci 3"}, TAGGED),
        ({}, WRITTEN),
    ],
)
def test_the_fields_of_a_reference_determine_the_card(fields: dict[str, object], card: int) -> None:
    assert evidence(cite(**fields), WORK).card == card


def test_related_works_differ_in_number_year_or_mark() -> None:
    def compared(a: str, b: str, a_year: int = 2019, b_year: int = 2019) -> tuple[float, float, float]:
        found = evidence(cite(title=a, year=a_year), Work(id="x", title=b, year=b_year))
        return found.numbers, found.title_year, found.marks

    nan = pytest.approx(math.nan, nan_ok=True)
    assert compared("Wheat. Part I", "Wheat. Part II") == (2, nan, 0)
    assert compared("Wheat", "Wheat II") == (1, nan, 0)
    assert compared("Lung trial A", "Lung trial B") == (2, nan, 0)
    assert compared("Cancer statistics, 2019", "Cancer statistics, 2020", 2019, 2020) == (0, 0, 0)
    assert compared("Cancer statistics, 2019", "Cancer statistics, 2019") == (0, 1, 0)
    assert compared("Wheat", "Erratum: Wheat") == (0, nan, 1)
    assert compared("Wheat", "Data from: Wheat") == (0, nan, 1)
    assert compared("Iron in infants", "Iron in infants [correction appears in J Nutr 1999 Mar;129(3):12]")[2] == 0


def test_an_identifier_in_the_text_confirms_but_does_not_contradict() -> None:
    assert evidence(cite(ids_weak={"doi": "10.1/x"}), WORK).identifier == 1
    assert math.isnan(evidence(cite(ids_weak={"doi": "10.1/y"}), WORK).identifier)
    assert evidence(cite(ids={"doi": "10.1/y"}, ids_weak={"doi": "10.1/x"}), WORK).identifier == 0
    assert evidence(cite(ids={"doi": "10.1/y"}), WORK, by_identifier=True).identifier == 1


@given(pairs())
def test_present_evidence_is_json_without_missing_columns(pair: tuple[Reference, Work]) -> None:
    found = evidence(*pair)
    assert found.present().keys() == set(COLUMN) - silent(found)
    assert json.loads(json.dumps(found.present(), allow_nan=False)) == found.present()
    assert all(abs(value - getattr(found, name)) <= 0.0005 for name, value in found.present().items())
