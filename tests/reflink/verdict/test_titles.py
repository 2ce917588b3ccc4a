"""What titles say about which of several related works they name, by example and law."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.verdict.folding import fold, folded_words
from reflink.verdict.titles import marks, numbers, numbers_differ, text_marks, years_agree

sets = st.frozensets(st.sampled_from("1 2 3 a b".split()))
years = st.frozensets(st.integers(2010, 2013), max_size=2)
published = st.frozensets(st.integers(2010, 2013), max_size=1)


def numbers_of(title: str) -> set[str]:
    return set(numbers(title, folded_words(title)))


def marks_of(title: str) -> set[str]:
    return set(marks(title, folded_words(title)))


@pytest.mark.parametrize(
    ("title", "found"),
    [
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
    ],
)
def test_numbers_and_parts_of_a_title(title: str, found: set[str]) -> None:
    assert numbers_of(title) == found


@pytest.mark.parametrize(
    ("title", "found"),
    [
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
    ],
)
def test_marks_of_a_title(title: str, found: set[str]) -> None:
    assert marks_of(title) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Smith A. Erratum: wheat yields. Crop Sci 1999;3:7", {"erratum"}),
        ("Smith A. Reply to Jones. Crop Sci 1999;3:7", {"reply"}),
        ("Smith A. Comments on wheat. Crop Sci 1999;3:7", {"comments"}),
        ("Smith A. Wheat yields. Editorial Letters and Comments 1999;3:7", set()),
        ("", set()),
    ],
)
def test_marks_of_a_citation_as_written(text: str, found: set[str]) -> None:
    assert text_marks(fold(text)) == found


@given(st.text())
def test_any_title_has_numbers_and_marks(title: str) -> None:
    assert all(number == number.lower() and number for number in numbers_of(title))
    assert all(marks_of(title))


@given(sets, sets)
def test_numbers_that_differ_are_counted_by_title(a: frozenset[str], b: frozenset[str]) -> None:
    assert numbers_differ(a, b, frozenset()) == numbers_differ(b, a, frozenset()) == (not a <= b) + (not b <= a)
    assert numbers_differ(a, a, frozenset()) == 0
    assert numbers_differ(a, b, b) <= numbers_differ(a, b, frozenset()) <= 2


def test_an_edition_beside_the_title_is_no_difference() -> None:
    assert numbers_differ(frozenset(), frozenset("2"), frozenset("2")) == 0
    assert numbers_differ(frozenset(), frozenset("2"), frozenset("3")) == 1
    assert numbers_differ(frozenset("3"), frozenset("2"), frozenset()) == 2


@pytest.mark.parametrize(
    ("a", "b", "published_a", "published_b", "agree"),
    [
        ({2019}, {2019}, {2019}, {2019}, True),
        ({2019}, {2020}, {2019}, {2020}, False),
        ({2018, 2019}, {2019}, {2019}, {2019}, None),
        (set(), set(), {2019}, {2020}, None),
        (set(), {2016}, {2017}, {2016}, False),
        (set(), {2016}, {2016}, {2016}, True),
        ({2013}, set(), {2013}, {2013}, True),
        ({2013}, set(), set(), set(), None),
        ({2013}, set(), {2014}, {2014}, None),
    ],
)
def test_years_in_titles(a: set[int], b: set[int], published_a: set[int], published_b: set[int], agree: bool | None) -> None:
    assert years_agree(a, b, published_a, published_b) is agree


@given(years, years, published, published)
def test_years_in_titles_agree_whichever_side_is_named_first(
    a: frozenset[int], b: frozenset[int], published_a: frozenset[int], published_b: frozenset[int]
) -> None:
    assert years_agree(a, b, published_a, published_b) is years_agree(b, a, published_b, published_a)
    assert years_agree(a, a, published_a, published_b) is (True if a else None)
