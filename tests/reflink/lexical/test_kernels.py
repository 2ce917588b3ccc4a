"""Compiled loops against their numpy twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reflink.lexical import kernels
from reflink.lexical.segments import Segment
from reflink.lexical.trigrams import trigram_sets

texts = st.lists(st.text(alphabet="abc ", max_size=12), min_size=1, max_size=25)


@given(texts, st.text(alphabet="abc ", max_size=12))
def test_count(found: list[str], query: str) -> None:
    segment = Segment.build([f"{at:03}" for at in range(len(found))], found)
    codes, _ = trigram_sets([query])
    overlaps = np.full(len(found), 7, np.uint16)
    kernels.count(codes, segment.starts, segment.postings, overlaps)
    assert overlaps.tolist() == kernels.count_numpy(codes, segment.starts, segment.postings, len(found)).tolist()


@given(texts, texts, st.integers(1, 30), st.data())
def test_search(found: list[str], queries: list[str], k: int, data: st.DataObject) -> None:
    segment = Segment.build([f"{at:03}" for at in range(len(found))], found)
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found))))
    codes, offsets = trigram_sets(queries)
    rows, scores, sizes = kernels.search(codes, offsets, segment.starts, segment.postings, segment.sizes, alive, k)
    for query in range(len(queries)):
        wanted = codes[offsets[query] : offsets[query + 1]]
        overlaps = kernels.count_numpy(wanted, segment.starts, segment.postings, len(found))
        best_rows, best_scores = kernels.best_numpy(overlaps, segment.sizes, alive, len(wanted), k)
        heap = sorted(zip(-scores[query, : sizes[query]], rows[query, : sizes[query]], strict=True))
        assert heap == list(zip(-best_scores, best_rows, strict=True))


@given(texts, texts, st.data())
def test_merge_equals_building_from_what_is_alive(first: list[str], second: list[str], data: st.DataObject) -> None:
    texts = dict(enumerate(first + second))
    names = data.draw(st.permutations([f"{at:03}" for at in texts]))
    dead = data.draw(st.sets(st.sampled_from(names)))
    parts = [Segment.build(names[: len(first)], first), Segment.build(names[len(first) :], second)]
    for part in parts:
        part.remove(sorted(dead))
    merged = parts[0].merge(parts[1])
    kept = {name: texts[at] for at, name in enumerate(names) if name not in dead}
    built = Segment.build(list(kept), list(kept.values()))
    for name, array in built.arrays().items():
        assert merged.arrays()[name].tolist() == array.tolist(), name
