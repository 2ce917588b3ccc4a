"""Folding makes typographic variants of the same words equal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.folding import compact, fold, folded_words
from tests.reflink.verdict import plain

#: Any text, ASCII, and characters with rules: accents, Greek, apostrophes, deleted characters, wrongly decoded letters.
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
def test_variants_have_this_folded_form(text: str, folded: str) -> None:
    assert fold(text) == folded
    assert folded_words(text) == folded.split()
    assert compact(text) == folded.replace(" ", "")


@given(texts)
def test_folding_equals_the_plain_implementation(text: str) -> None:
    assert fold(text) == plain.fold(text)
    assert compact(text) == plain.fold(text).replace(" ", "")
    assert " ".join(folded_words(text)) == fold(text)


@given(texts)
def test_folded_text_is_stable_and_has_lower_case_letters_and_digits_only(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert compact(compact(text)) == compact(text)
    assert all(char.isalnum() and char == char.lower() for char in compact(text))
    assert "  " not in fold(text)


@given(texts, texts)
def test_words_are_folded_separately(a: str, b: str) -> None:
    assert fold(f"{a} {b}") == f"{fold(a)} {fold(b)}".strip()
