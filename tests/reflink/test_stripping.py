"""Stripped texts contain no identifiers and keep words that only look like labels."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from reflink import identifiers
from reflink.entities import Ids
from reflink.identifiers import extract
from reflink.stripping import REMOVED, separate, strip
from tests.reflink.test_identifiers import DOI_LIKE, TEXTS


def tight(text: str) -> str:
    """Collapse white space, and remove it before punctuation, as in the text of a citation."""
    text = " ".join(text.split())
    for mark in ",.;:)]":
        text = text.replace(f" {mark}", mark)
    return text


def test_strip_keeps_words() -> None:
    text = "Searching PubMed: a guide (with doi examples), 10.5 cm"
    assert strip(text) == text


def test_strip_removes_the_label_of_an_identifier() -> None:
    assert strip(f"Lancet 356 (doi: {REMOVED}) 1083 PubMed: {REMOVED}.") == "Lancet 356 1083."


@given(TEXTS)
@example("10.10.1000/b00/c")
@example("PMPMC12345C12345")
@example("doi:\x0110.1000/x")
def test_stripped_text_contains_no_identifier(text: str) -> None:
    bare = strip(text)
    assert extract(bare) == Ids()
    assert strip(bare) == bare


@given(st.one_of(TEXTS, DOI_LIKE))
@example("(10.1000/a) b")
@example("doi: \x01")
@example("A. doi:\x01.")
@example("PubMed \x01 \x01")
@example("(\x01")
@example("A (doi \x01")
@example("A , \x01")
@example("\x01 10.1000/a \x01")
def test_separate_equals_extract_and_strip(text: str) -> None:
    for part in (tight(text), tight(text.replace(REMOVED, ""))):
        found, rest = separate(part)
        assert found == {kind: value for kind, value in extract(part) if value}
        assert rest == strip(part)
        if not identifiers.promising(part):
            assert separate(part, plain=True) == ({}, rest)


WORDS = st.sampled_from(
    ("A", "b.", "doi", "doi:", "PubMed", "PMID:", "(", ")", "[", ",", ".", ";", "-", REMOVED, REMOVED, "é" * 50)
)


@given(st.lists(WORDS, max_size=12))
def test_marks_are_removed_equally_with_and_without_a_search_for_identifiers(words: list[str]) -> None:
    for text in (tight(" ".join(words)), tight("".join(words))):
        assert separate(text, plain=True) == separate(text) == ({}, strip(text))
