"""Trigrams and their similarity against the published definition."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reflink.lexical import similarity, trigrams
from reflink.lexical.trigrams import ALPHABET, TRIGRAMS, letters, score, trigram_sets

normal = st.text(alphabet=ALPHABET, max_size=60)
close = st.text(alphabet="ab ", max_size=20)


def strings(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


def spelled(code: int) -> str:
    return ALPHABET[code // 37**2] + ALPHABET[code // 37 % 37] + ALPHABET[code % 37]


def defined(a: str, b: str) -> Fraction:
    """s = 2JC/(J+C) as published, on sets of strings."""
    x, y = strings(a), strings(b)
    if not x & y:
        return Fraction(0)
    j, c = Fraction(len(x & y), len(x | y)), Fraction(len(x & y), min(len(x), len(y)))
    return 2 * j * c / (j + c)


@given(normal)
@example("")
@example("ab")
@example("zzz")
@example("   ")
def test_trigrams_are_distinct_and_ascending(text: str) -> None:
    codes = trigrams(text)
    assert codes.dtype == np.uint16
    assert (np.diff(codes.astype(int)) > 0).all()
    assert {spelled(int(code)) for code in codes} == strings(text)


def test_every_trigram_has_its_own_code() -> None:
    assert len({spelled(code) for code in range(TRIGRAMS)}) == TRIGRAMS == 50_653
    assert trigrams("zzz").tolist() == [TRIGRAMS - 1]


@given(st.lists(normal, max_size=8))
def test_the_trigrams_of_a_text_do_not_depend_on_the_others(texts: list[str]) -> None:
    codes, offsets = trigram_sets(texts)
    parts = [codes[offsets[at] : offsets[at + 1]].tolist() for at in range(len(texts))]
    assert parts == [trigrams(text).tolist() for text in texts]


@given(close, close)
@example("abc", "abc")
@example("ab", "ab")
@example("", "abc")
def test_similarity_equals_the_published_definition(a: str, b: str) -> None:
    assert similarity(a, b) == float(defined(a, b))
    assert similarity(a, b) == similarity(b, a)


sizes = st.integers(1, TRIGRAMS)


@given(sizes, sizes, sizes, sizes, st.data())
def test_float64_scores_preserve_order_and_ties_of_the_ratios(a: int, b: int, c: int, d: int, data: st.DataObject) -> None:
    o, p = data.draw(st.integers(1, min(a, b))), data.draw(st.integers(1, min(c, d)))
    exact = [Fraction(2 * o, a + b + min(a, b) - o), Fraction(2 * p, c + d + min(c, d) - p)]
    scores = [score(o, a, b), score(p, c, d)]
    assert (scores[0] < scores[1]) == (exact[0] < exact[1])
    assert (scores[0] == scores[1]) == (exact[0] == exact[1])


@pytest.mark.parametrize("text", ["Upper", "é", "a-b", "tab\there", "x\ud800", "𝔘"])
def test_a_text_that_is_not_normalised_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(ValueError, match="not normalised") as caught:
        letters(["fine", "", text, "fine"])
    assert repr(text) in str(caught.value)


def test_a_text_may_have_a_megabyte() -> None:
    text = "abcdefghij " * 100_000
    assert {spelled(int(code)) for code in trigrams(text)} == strings(text[:100])
