"""Sorted arrays of grams are sets of trigrams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.verdict.grams import common, containment, grams, overlap

text = st.text(alphabet="abc", max_size=12) | st.text(st.characters(codec="utf-8"), max_size=60)


def plain(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)} if len(text) > 2 else {text} - {""}


@settings(deadline=None)
@given(text)
def test_each_gram_is_there_once_and_ascending(text: str) -> None:
    found = grams(text)
    assert len(found) == len(plain(text))
    assert np.all(found[1:] > found[:-1])


@settings(deadline=None)
@given(text, text)
def test_overlap_is_the_published_formula(a: str, b: str) -> None:
    x, y = plain(a), plain(b)
    shared = len(x & y)
    assert common(grams(a), grams(b)) == shared
    assert containment(grams(a), grams(b)) == (shared / len(x) if x else 0)
    if not shared:
        assert overlap(grams(a), grams(b)) == 0
        return
    j, c = shared / len(x | y), shared / min(len(x), len(y))
    assert overlap(grams(a), grams(b)) == pytest.approx(2 * j * c / (j + c))
