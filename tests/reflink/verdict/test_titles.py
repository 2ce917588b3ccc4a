"""Numbers, marks and years of titles, which distinguish related works."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.folding import folded_words
from reflink.verdict import evidence
from reflink.verdict.batch import compare_all
from reflink.verdict.titles import marks
from tests.reflink.verdict import plain

#: Titles with their numbers.
NUMBERS = [
    ("Wheat yields under heat", set()),
    ("The effect of salt on rice. Part II", {"2"}),
    ("The effect of salt on rice. Part 2", {"2"}),
    ("The effect of salt on rice, part ii", {"2"}),
    ("The effect of salt on rice III", {"3"}),
    ("Nivolumab in renal cancer: Trial A", {"a"}),
    ("Nivolumab in renal cancer: trial B", {"b"}),
    ("Soil organic matter. Part B: field data", {"b"}),
    ("I: Theory of the method", {"1"}),
    ("Theory of the method. V. Numerical results", {"5"}),
    ("Studies on pollen (I) Grasses", {"1"}),
    ("Measuring CO2 in 24 houses", {"2", "24"}),
    ("Cancer statistics, 2019", {"2019"}),
    ("Vitamin C and vitamin D in diet", set()),
    ("Drug X in practice", set()),
    ("I think, therefore I measure", set()),
    ("Results of C.I. Brown on mice", set()),
    ("DSM-IV criteria", {"4"}),
    ("", set()),
]
#: Titles with their marks.
MARKS = [
    ("Wheat yields under heat", set()),
    ("Erratum: Wheat yields under heat", {"erratum"}),
    ("Wheat yields under heat (vol 3, pg 7): Corrigendum", {"corrigendum"}),
    ("Reply to Smith et al.", {"reply"}),
    ("Comment on “Wheat yields under heat”", {"comment"}),
    ("RETRACTED: Wheat yields under heat", {"retracted"}),
    ("Data from: Wheat yields under heat", {"data"}),
    ("Yields: what data from the field say", set()),
    ("Executive summary: heart disease statistics", {"summary"}),
    ("Summary of an executive meeting", {"summary"}),
    ("Standards of care. Diabetes Care 2013;36:2508", {"place"}),
    ("Standards of care. Diabetes Care 2013; 36(8):S11", {"place"}),
    ("Standards of care 2013: summary; 36 sites", set()),
    # A remark in brackets at the end is about the work itself.
    ("Iron in infants [correction appears in J Nutr 1999;129:12]", set()),
    ("Iron in infants [published erratum appears in J Nutr 1999;129:12]", set()),
    ("Iron in infants [published erratum appears in J Nutr 1999 Mar;129(3):12]", set()),
    ("Iron in infants (the authors' reply follows)", set()),
    ("Erratum: Iron in infants [correction appears in J Nutr]", {"erratum"}),
    ("Iron in infants [erratum]", {"erratum"}),
    ("[Correction of iron in infants]", {"correction"}),
]


def cite(**given: object) -> Reference:
    return Reference.from_dict({"id": "a#1", "citing": "a", "position": 1, **given})


def marks_of(title: str) -> set[str]:
    return set(marks(title, folded_words(title)))


@pytest.mark.parametrize(("title", "found"), NUMBERS)
def test_numbers_and_parts_of_a_title(title: str, found: set[str]) -> None:
    assert plain.numbers(title) == found


@pytest.mark.parametrize(("title", "found"), MARKS)
def test_marks_of_a_title(title: str, found: set[str]) -> None:
    assert marks_of(title) == found


@pytest.mark.parametrize("tagged", [True, False])
def test_any_two_of_these_titles_have_the_plain_evidence(tagged: bool) -> None:
    titles = [title for title, _ in (*NUMBERS, *MARKS)]
    references = [cite(title=title, year=2019) if tagged else cite(raw_text=f"Li A. {title}. 2019") for title in titles]
    works = [Work(id=f"w{at}", title=title, year=2018 + at % 3) for at, title in enumerate(titles)]
    pairs = np.array(list(product(range(len(titles)), repeat=2)), np.int64)
    expected = [plain.evidence(references[a], works[b]) for a, b in pairs]
    np.testing.assert_allclose(compare_all(references, works, pairs), np.array(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "differ"),
    [
        ("Smith A. Erratum: wheat yields. Crop Sci 1999;3:7", 1.0),
        ("Smith A. Reply to Jones. Crop Sci 1999;3:7", 1.0),
        ("Smith A. Comments on wheat. Crop Sci 1999;3:7", 1.0),
        ("Smith A. Wheat yields. Editorial Letters and Comments 1999;3:7", 0.0),
    ],
)
def test_marks_of_an_untagged_citation(text: str, differ: float) -> None:
    assert evidence(cite(raw_text=text), Work(id="x", title="Wheat yields")).marks == differ


@given(st.text())
def test_any_title_has_valid_numbers_and_marks(title: str) -> None:
    assert all(number == number.lower() and number for number in plain.numbers(title))
    assert all(marks_of(title))


def test_an_edition_next_to_the_title_is_not_a_difference() -> None:
    def differ(title: str, text: str = "") -> float:
        return evidence(cite(title=title, raw_text=f"Li. {title}. {text}"), Work(id="x", title="Wheat 2")).numbers

    assert differ("Wheat", "2nd ed.") == 0
    assert differ("Wheat", "3rd ed.") == 1
    assert differ("Wheat 3") == 2


@pytest.mark.parametrize(
    ("a", "b", "published_a", "published_b", "agree"),
    [
        ({2019}, {2019}, {2019}, {2019}, 1.0),
        ({2019}, {2020}, {2019}, {2020}, 0.0),
        ({2018, 2019}, {2019}, {2019}, {2019}, math.nan),
        (set(), set(), {2019}, {2020}, math.nan),
        (set(), {2016}, {2017}, {2016}, 0.0),
        (set(), {2016}, {2016}, {2016}, 1.0),
        ({2013}, set(), {2013}, {2013}, 1.0),
        ({2013}, set(), set(), set(), math.nan),
        ({2013}, set(), {2014}, {2014}, math.nan),
    ],
)
def test_years_in_titles(a: set[int], b: set[int], published_a: set[int], published_b: set[int], agree: float) -> None:
    def titled(years: set[int]) -> str:
        return " ".join(["Wheat", *map(str, sorted(years))])

    reference = cite(title=titled(a), year=min(published_a, default=None))
    work = Work(id="x", title=titled(b), year=min(published_b, default=None))
    assert evidence(reference, work).title_year == pytest.approx(agree, nan_ok=True)
