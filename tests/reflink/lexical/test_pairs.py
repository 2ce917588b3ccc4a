"""Scores of listed pairs, compared with the plain score of two texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.lexical.pairs import pair_scores
from reflink.lexical.trigrams import ALPHABET, similarity

TEXTS = st.lists(st.text(ALPHABET, max_size=30), min_size=1, max_size=8)


@given(TEXTS, st.data())
def test_each_pair_has_the_score_of_its_texts(texts: list[str], data: st.DataObject):
    position = st.integers(0, len(texts) - 1)
    pairs = data.draw(st.lists(st.tuples(position, position), max_size=20))
    scores = pair_scores(texts, np.array(pairs, np.int64).reshape(-1, 2))
    assert scores.tolist() == [similarity(texts[one], texts[other]) for one, other in pairs]


def test_a_text_that_is_not_normalised_is_refused():
    with pytest.raises(ValueError, match="not normalised"):
        pair_scores(["abc", "Ä"], np.array([[0, 1]], np.int64))
