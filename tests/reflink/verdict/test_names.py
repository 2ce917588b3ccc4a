"""How names of people agree: slips forgiven, other people not taken for the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.verdict.description import name_tokens
from reflink.verdict.names import MISSPELT, agreement, slips
from tests.reflink.verdict import plain

word = st.text(alphabet="abc", max_size=9)
name = st.frozensets(
    st.sampled_from(["livak", "livek", "schmittgen", "schmitgen", "shcmittgen", "li", "lu", "kurata", ""]) | word
)


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
    assert agreement(name_tokens(a), name_tokens(b)) == 1.0


@pytest.mark.parametrize(
    ("a", "b"),
    [("Livak", "Livek"), ("Schmittgen", "Schmitgen"), ("Schmittgen", "Shcmitgen"), ("Kurata", "Kruata"), ("DeLuca", "Delucca")],
)
def test_a_slip_or_two_are_forgiven_in_a_long_name(a: str, b: str) -> None:
    assert agreement(name_tokens(a), name_tokens(b)) == MISSPELT


@pytest.mark.parametrize(("a", "b"), [("Li", "Lu"), ("Wang", "Yang"), ("Chen", "Cheng"), ("Schmidt", "Schulz"), ("", "")])
def test_other_names_do_not_agree(a: str, b: str) -> None:
    assert agreement(name_tokens(a), name_tokens(b)) == 0.0


@given(name, name)
def test_agreement_is_symmetric_and_that_of_the_plain_reading(a: frozenset[str], b: frozenset[str]) -> None:
    assert agreement(a, b) == agreement(b, a) == plain.agreement(set(a), set(b))
    assert agreement(a, b) in (0.0, MISSPELT, 1.0)
    assert agreement(a, a) == (1.0 if a else 0.0)


@given(word, word)
def test_slips_are_those_of_the_recursive_definition(x: str, y: str) -> None:
    assert slips(x, y) == plain.slips(x, y)


@given(word, word)
def test_slips_are_symmetric_bounded_and_none_for_the_same_word(x: str, y: str) -> None:
    assert slips(x, y) == slips(y, x)
    assert abs(len(x) - len(y)) <= slips(x, y) <= max(len(x), len(y))
    assert (slips(x, y) == 0) == (x == y)


@given(word, st.integers(0, 8), st.sampled_from("abcd"))
def test_one_stroke_is_one_slip(x: str, at: int, letter: str) -> None:
    at = min(at, len(x))
    assert slips(x, x[:at] + letter + x[at:]) == 1
    if at + 1 < len(x):
        swapped = x[:at] + x[at + 1] + x[at] + x[at + 2 :]
        assert slips(x, swapped) == (x[at] != x[at + 1])
