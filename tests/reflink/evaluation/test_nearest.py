"""The published approaches against plain computations, and the measurement of their times."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.evaluation import nearest
from reflink.evaluation.nearest import Jaccard, Sbert, TitleMatch
from reflink.evaluation.vectors import CachedEncoder
from reflink.lexical import similarity
from reflink.text import normalise, reference_text, work_text
from tests.profiles import examples
from tests.reflink.evaluation.small import QUERIES, WORKS, Words, reference, silent, work

FIELD = st.sampled_from(["", "iron", "zinc rice", "Über", "rice - iron", "水稻"])
RECORDS = st.tuples(FIELD, FIELD, FIELD, st.sampled_from([None, 1999, 2001]))


@settings(max_examples=examples(40))
@given(st.lists(RECORDS, min_size=1, max_size=12), st.lists(RECORDS, min_size=1, max_size=6))
def test_an_approach_gives_the_work_of_a_plain_computation(works: list[Any], references: list[Any]) -> None:
    made = [
        work(f"w{n:02}", title, *name.split(), venue=venue, year=year) for n, (title, name, venue, year) in enumerate(works)
    ]
    queries = [
        reference(title=title, last_names=name.split(), venue=venue, year=year, raw_text=f"{name} {title}")
        for title, name, venue, year in references
    ]
    for query, (ids, score) in zip(queries, Jaccard(made, "TVL", silent).answer(queries), strict=True):
        text = reference_text(query, "TVL", lexical=True)
        scores = [similarity(text, work_text(w, "TVL", lexical=True)) for w in made]
        if max(scores) == 0:
            assert (ids, math.isnan(score)) == ((), True)
        else:
            assert (ids, score) == ((f"w{scores.index(max(scores)):02}",), max(scores))
    for query, (ids, _) in zip(queries, TitleMatch(made, silent).answer(queries), strict=True):
        title = normalise(query.title or "", lexical=True)
        same = [w.id for w in made if normalise(w.title or "", lexical=True) == title]
        assert list(ids) == (same if title else [])


def test_sbert_needs_a_field_and_finds_letters_that_trigrams_lack(tmp_path: Path) -> None:
    works = [work("a", "水稻"), work("b", None, venue="Rice")]
    sbert = Sbert(works, "TV", CachedEncoder(Words(), tmp_path), silent)
    queries = [reference(raw_text="Rice"), reference(title="水稻"), reference(raw_text="x", venue="Rice")]
    assert [ids for ids, _ in sbert.answer(queries)] == [(), ("a",), ("b",)]
    assert sbert.text(queries[0]) == ""
    assert [ids for ids, _ in sbert.answer(queries[:1], afresh=True)] == [()]


def test_times_are_of_texts_encoded_again(tmp_path: Path) -> None:
    words = Words()
    sbert = Sbert(WORKS, "TVL", CachedEncoder(words, tmp_path), silent)
    references = [query.reference for query in QUERIES]
    sbert.answer(references)
    words.encoded.clear()
    afresh = partial(sbert.answer, afresh=True)
    found = nearest.seconds(afresh, references[:3], silent, "")
    assert found["timed"].pop("load") >= 0
    assert found["timed"] == {"alone": 3, "in_batches": 3, "batch": 256, "threads": 1}
    assert len(words.encoded) == 2 + 3 + 3
    empty = nearest.seconds(afresh, [], silent, "")
    assert (empty["seconds"], empty["seconds_in_batches"]) == (None, None)
