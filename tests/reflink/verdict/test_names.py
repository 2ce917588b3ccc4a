"""Agreement of personal names: misspellings agree, names of other people do not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.verdict import evidence
from reflink.verdict.rules import MISSPELT
from tests.reflink.verdict import plain

word = st.text(alphabet="abc", max_size=9)
name = st.lists(
    st.sampled_from(["livak", "livek", "schmittgen", "schmitgen", "shcmittgen", "li", "lu", "kurata", "van", "jr"]) | word,
    max_size=4,
).map(" ".join)


def agreement(a: str, b: str) -> float:
    reference = Reference(id="a#1", citing="a", position=1, last_names=(a,))
    return evidence(reference, Work(id="x", authors=(b,))).first_author


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("van der Berg", {"berg"}),
        ("Müller", {"muller"}),
        ("Mueller", {"muller"}),
        ("Smith JR", {"smith"}),
        ("García-López", {"garcia", "lopez"}),
        ("de la", {"de", "la"}),
        ("J. Smith", {"smith"}),
        ("王", {"王"}),
    ],
)
def test_the_words_that_identify_a_name(name: str, words: set[str]) -> None:
    assert plain.name_words(name) == words
    assert all(agreement(name, each) == agreement(each, name) == 1.0 for each in words)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Müller", "Mueller"),
        ("van der Berg", "Berg"),
        ("García-López", "Garcia"),
        ("Smith JR", "Smith"),
        ("O’Brien", "OBrien"),
        ("Ørsted", "Orsted"),
        ("Li", "Li"),
    ],
)
def test_spellings_of_one_name_agree(a: str, b: str) -> None:
    assert agreement(a, b) == 1.0


@pytest.mark.parametrize(
    ("a", "b"),
    [("Livak", "Livek"), ("Schmittgen", "Schmitgen"), ("Schmittgen", "Shcmitgen"), ("Kurata", "Kruata"), ("DeLuca", "Delucca")],
)
def test_one_or_two_misspellings_agree_in_a_long_name(a: str, b: str) -> None:
    assert agreement(a, b) == MISSPELT


@pytest.mark.parametrize(("a", "b"), [("Li", "Lu"), ("Wang", "Yang"), ("Chen", "Cheng"), ("Schmidt", "Schulz"), ("…", "…")])
def test_different_names_do_not_agree(a: str, b: str) -> None:
    assert agreement(a, b) == 0.0


@given(name, name)
def test_agreement_is_symmetric_and_equals_the_plain_definition(a: str, b: str) -> None:
    expected = plain.agreement(plain.name_words(a), plain.name_words(b))
    assert expected in (0.0, MISSPELT, 1.0)
    if expected == 0 and max(len(plain.name_words(a)), len(plain.name_words(b))) > 2:
        expected = pytest.approx(math.nan, nan_ok=True)  # a group and a person are not compared
    assert agreement(a, b) == expected
    assert agreement(b, a) == expected


@given(st.text(alphabet="abcdfg", min_size=5, max_size=9), st.integers(0, 8), st.sampled_from("abcdfgh"))
def test_one_edit_agrees_in_a_name_of_five_letters(x: str, at: int, letter: str) -> None:
    at = min(at, len(x))
    assert agreement(x, x[:at] + letter + x[at:]) >= MISSPELT
    if at + 1 < len(x):
        assert agreement(x, x[:at] + x[at + 1] + x[at] + x[at + 2 :]) >= MISSPELT
