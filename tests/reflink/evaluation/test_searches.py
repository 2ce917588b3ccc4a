"""Kept searches: the hits of the index itself, without searching again, and never those of other works."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Work
from reflink.evaluation.searches import WIDTH, KeptIndex, Search, kept_catalog
from reflink.evaluation.vectors import CachedEncoder
from reflink.lexical import LexicalIndex
from tests.profiles import examples
from tests.reflink.evaluation.small import WORKS
from tests.reflink.evaluation.worldfiles import Hashed

TEXTS = {f"w{n}": f"{word} in the long dry season of {1990 + n}" for n, word in enumerate(("wheat", "rice", "maize") * 6)}


def index() -> LexicalIndex:
    made = LexicalIndex("Raw")
    made.add(list(TEXTS), list(TEXTS.values()))
    return made


def kept(path: Path, content: bytes = b"x") -> tuple[KeptIndex, list[Sequence[str]]]:
    """Return a kept index, and the list of the queries that reach the index itself."""
    asked: list[Sequence[str]] = []

    def build() -> Search:
        real = index()

        def search(queries: Any, k: int, floor: float | None, seeds: Any) -> Any:
            asked.append(queries)
            return real.search(queries, k, floor, seeds)

        return search

    return KeptIndex(path, content, len(TEXTS), build), asked


queries = st.lists(st.sampled_from([*TEXTS.values(), "wheat", "zzz", ""]), max_size=4)


@given(st.lists(st.tuples(queries, st.integers(1, WIDTH + 3), st.sampled_from([None, 0.5])), max_size=4))
@settings(max_examples=examples(20))
def test_hits_are_those_of_the_index_whatever_was_searched_before(
    tmp_path_factory: pytest.TempPathFactory, searches: list[tuple[list[str], int, float | None]]
) -> None:
    real, (made, _) = index(), kept(tmp_path_factory.mktemp("kept") / "searches.sqlite")
    for texts, k, floor in searches:
        assert made.search(texts, k, floor) == list(real.search(texts, k, floor))


def test_only_new_queries_reach_the_index(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "searches.sqlite"
    first, asked = kept(path)
    found = first.search(["wheat", "rice"], 5, None, [["w0"], []])
    again, asked_again = kept(path)
    assert again.search(["rice", "wheat"], 3) == [found[1][:3], found[0][:3]]
    assert len(again) == len(TEXTS)
    again.search(["rice", "maize"], 3)
    assert (asked, asked_again) == ([["wheat", "rice"]], [["maize"]])


def test_hits_of_other_works_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "searches.sqlite"
    kept(path)[0].search(["wheat"], 3)
    other, asked = kept(path, b"y")
    other.search(["wheat"], 3)
    assert asked == [["wheat"]]


def test_a_search_that_fails_keeps_the_batches_before_it(tmp_path: Path) -> None:
    path = tmp_path / "searches.sqlite"
    made, _ = kept(path)
    made.search(["wheat"], 3)
    with pytest.raises(ValueError, match="normalised"):
        made.search(["Not normalised!"], 3)
    again, asked = kept(path)
    assert again.search(["wheat"], 3)
    assert not asked


def test_a_catalog_with_kept_searches_finds_what_another_finds(tmp_path: Path) -> None:
    encoder = CachedEncoder(Hashed(), tmp_path)
    made = kept_catalog(WORKS, encoder, tmp_path)
    other = kept_catalog([work.model_copy(update={"title": "Another"}) for work in WORKS], encoder, tmp_path)
    assert made.trigrams is not None
    assert made.vectors is not None
    assert len(made) == len(made.trigrams) == len(made.vectors) == len(WORKS)
    (query,) = made.lexical_texts(WORKS[2]).values()
    vector = encoder.encode([made.semantic_text(WORKS[2])])
    for _ in range(2):
        ((best, score), *_) = next(iter(made.trigrams.search([query], 2)))
        assert (best, score) == (WORKS[2].id, 1.0)
        assert next(iter(made.vectors.search(vector, 1)))[0][0] == WORKS[2].id
    assert other.trigrams is not None
    assert next(iter(other.trigrams.search([query], 1)))[0][1] < 1.0
    assert kept_catalog(WORKS, None, tmp_path).vectors is None
    assert isinstance(made.get("a"), Work)
    assert np.isclose(np.linalg.norm(vector), 1.0, atol=1e-3)
