"""Folding: two typesetters' spellings of the same words become one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.folding import compact, fold, folded_words
from tests.reflink.verdict import plain

#: Any text, ASCII, and what folding has rules for: accents, Greek, apostrophes, what is deleted, scrambled letters.
texts = (
    st.text()
    | st.text(alphabet=[chr(code) for code in range(128)])
    | st.text(alphabet="aeI ΣσςαØßłıﬁ²Ⅻ'’`´ʼ\u00ad\u200b\u0301Ã¶â€™ÂÎ±ÐИ漢が한\U0001d400\t-")
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Ménière’s disease", "menieres disease"),
        ("β-catenin and ΣΑΣ", "beta catenin and sigmaalphasigma"),
        ("Łódź  Straße Ørsted", "lodz strasse orsted"),
        ("CO₂ ﬁxation", "co2 fixation"),
        ("non‐small\u00adcell", "non smallcell"),
        ("O'Brien, O’Brien, O`Brien", "obrien obrien obrien"),
        ("Ⅻ", "xii"),
        ("MÃ¼ller and GonzÃ¡lez", "muller and gonzalez"),
        ("the patientâ€™s own", "the patients own"),
        ("Ãrsted", "arsted"),
        ("干旱 胁迫", "干旱 胁迫"),
        (" \t\n", ""),
    ],
)
def test_spellings_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded
    assert folded_words(text) == folded.split()
    assert compact(text) == folded.replace(" ", "")


@given(texts)
def test_folding_is_that_of_the_plain_reading_letter_by_letter(text: str) -> None:
    assert fold(text) == plain.fold(text)
    assert compact(text) == plain.fold(text).replace(" ", "")
    assert " ".join(folded_words(text)) == fold(text)


@given(texts)
def test_what_is_folded_stays_as_it_is(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert compact(compact(text)) == compact(text)


@given(texts, texts)
def test_words_are_folded_each_for_itself(a: str, b: str) -> None:
    assert fold(f"{a} {b}") == f"{fold(a)} {fold(b)}".strip()


@given(texts)
def test_what_is_folded_has_small_letters_and_digits_only(text: str) -> None:
    assert all(char.isalnum() and char == char.lower() for char in compact(text))
    assert "  " not in fold(text)
