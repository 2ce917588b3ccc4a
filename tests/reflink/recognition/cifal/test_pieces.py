"""Tests of the input of the network."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.recognition.cifal.pieces import LONGEST, SPELLINGS, Pieced, WordPieces, spelling
from reflink.recognition.tokens import tokenise
from tests.profiles import examples

WORDS: dict[Path, WordPieces] = {}


def pieces(folder: Path) -> WordPieces:
    return WORDS.setdefault(folder, WordPieces(folder))


@given(text=st.text(st.characters(codec=None), max_size=60))
@settings(max_examples=examples(200))
def test_every_token_has_pieces_and_a_spelling(tiny: Path, text: str):
    tokens = tokenise(text)
    found = pieces(tiny)(tokens)
    assert len(found.pieces) == len(found.spellings) == len(tokens.words)
    assert all(1 <= len(own) <= LONGEST for own in found.pieces)
    assert all(0 <= own < SPELLINGS for own in found.spellings)


def test_pieces_are_those_of_the_tokenizer_without_case(tiny: Path):
    found = pieces(tiny)(tokenise("Journal of xyz, 2004"))
    alike = pieces(tiny)(tokenise("JOURNAL OF XYZ, 2004"))
    assert [len(own) for own in found.pieces] == [1, 1, 3, 1, 1]
    assert found.pieces == alike.pieces
    assert found.spellings != alike.spellings


def test_a_long_token_is_cut_and_an_unknown_one_has_the_unknown_piece(tiny: Path):
    found = pieces(tiny)(tokenise("xy" * 40 + " 學"))
    assert [len(own) for own in found.pieces] == [LONGEST, 1]
    assert found.pieces[1] == (pieces(tiny).marks.unknown,)


def test_spellings_tell_case_numbers_marks_and_spaces_apart(tiny: Path):
    classes = [spelling(word) for word in ("7", "12", "123", "99999", "1999", ".", "de", "A", "USA", "Wang", "McDonald", "學")]
    assert len(set(classes)) == len(classes)
    close, apart = (pieces(tiny)(tokenise(text)).spellings for text in ("Ecology7", "Ecology 7"))
    assert close[0] == apart[0]
    assert close[1] != apart[1]


def test_without_removes_one_token():
    whole = Pieced(((1,), (2, 3), (4,)), (5, 6, 7), (0, 1, 2))
    assert whole.length == 4
    assert whole.without(1) == Pieced(((1,), (4,)), (5, 7), (0, 2))
