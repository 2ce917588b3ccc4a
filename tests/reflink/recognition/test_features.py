"""Tests of tokens and of their hashed features."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.parsing.scoring import untagged
from reflink.recognition.bigru.encoding import encode
from reflink.recognition.features import BITS, features
from reflink.recognition.tagger import shipped
from reflink.recognition.tagging import spans
from reflink.recognition.tokens import tokenise
from tests.data import ROOT
from tests.profiles import examples
from tests.reflink.recognition import plain

TEXT = "Wang X, Li Y. “Plants of the Alps.” J Ecol 2004; 92(3): e12–19."


@given(st.text(max_size=200))
def test_tokens_cover_the_text_except_white_space(text: str):
    words, starts, ends = tokenise(text)
    assert [text[start:end] for start, end in zip(starts, ends, strict=True)] == words
    assert "".join(words) == "".join(text.split())
    assert all(words)


def test_digits_and_letters_are_separate_tokens():
    assert tokenise("Climate37, e0260860 2004a").words == ["Climate", "37", ",", "e", "0260860", "2004", "a"]
    assert tokenise("Gu\u0308rban").words == ["Gu\u0308rban"]


@given(st.text(max_size=200))
def test_features_are_row_numbers_of_the_weights(text: str):
    tokens = tokenise(text)
    if tokens.words:
        seen = features(tokens)
        assert seen.shape[0] == len(tokens.words)
        assert seen.min() >= 0
        assert seen.max() < 1 << BITS


@st.composite
def citations(draw: st.DrawFn) -> str:
    """Texts of words, years, marks and gaps as in citations, and any others."""
    parts = st.sampled_from(
        [*"“‘«„「『”’»」』\"'([)]:.?!,;-", "in", "In", "inn", "2004", "1499", "12", "123", "Smith", "WHO", "J", "東京"]
    )
    gap = st.sampled_from(["", "", " ", "  "])
    return "".join(part + draw(gap) for part in draw(st.lists(st.one_of(parts, st.text(max_size=4)), max_size=60)))


@given(citations())
@settings(max_examples=examples(300))
def test_the_compiled_features_equal_the_plain_ones(text: str):
    tokens = tokenise(text)
    if tokens.words:
        np.testing.assert_array_equal(features(tokens), plain.features(tokens))
        np.testing.assert_array_equal(encode(tokens), plain.rows(tokens))


def test_the_compiled_path_equals_the_plain_one_on_real_citations():
    for case in islice(untagged(), 150):
        tokens = tokenise(case.text)
        np.testing.assert_array_equal(features(tokens), plain.features(tokens))
        np.testing.assert_array_equal(encode(tokens), plain.rows(tokens))
        tagging = shipped().tag(case.text, tokens)
        assert spans(tagging) == plain.spans(tagging)


def test_features_do_not_depend_on_the_process():
    script = (
        "from reflink.recognition.features import features; from reflink.recognition.tokens import tokenise;"
        f"print(features(tokenise({TEXT!r})).tolist())"
    )
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed}
        output = subprocess.check_output([sys.executable, "-c", script], text=True, cwd=ROOT, env=environment)
        assert output == f"{features(tokenise(TEXT)).tolist()}\n"


def test_features_depend_on_the_neighbours_of_a_token():
    a, b = (features(tokenise(text)) for text in ("Wang X, Li", "Wang X; Li"))
    assert not np.array_equal(a[1], b[1])
    assert np.mean(a[0] == b[0]) > 0.5
