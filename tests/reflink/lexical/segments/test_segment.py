"""The layout of a segment, its kernels and its merges against their definitions; inconsistent files are refused."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflink.errors import UnusableSnapshot
from reflink.lexical.cpu import counting, plain, searching
from reflink.lexical.layout import BLOCK, LIST_BLOCK, WORDS, LiveRows, extents
from reflink.lexical.queries import Queries
from reflink.lexical.segments.parts import Part
from reflink.lexical.segments.segment import Segment
from reflink.lexical.trigrams import trigram_sets, trigrams
from reflink.storage.idtable import ABSENT

pytestmark = pytest.mark.usefixtures("laid_out")
quiet = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
texts = st.lists(st.text(alphabet="abc ", max_size=12), min_size=1, max_size=25)


def named(found: list[str]) -> list[str]:
    return [f"{at:03}" for at in range(len(found))]


def bitmap(segment: Segment, number: int) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows in a bitmap."""
    blocks = segment.layout.bits.reshape(-1, len(segment.layout.shares) + 1, WORDS)
    bits = np.unpackbits(np.ascontiguousarray(blocks[:, number]).view(np.uint8), bitorder="little")
    return bits[: len(segment)].astype(bool)


@quiet
@given(texts)
def test_a_layout_agrees_with_its_definition(found: list[str]) -> None:
    segment = Segment.build(named(found), found)
    own = segment.layout
    assert sorted(segment.ranks.tolist()) == list(range(len(found)))
    assert (np.diff(own.sizes.astype(int)) >= 0).all()
    for row, rank in enumerate(segment.ranks.tolist()):
        assert segment.find([f"{rank:03}"]).tolist() == [row]
        assert sorted(own.codes[own.offsets[row] : own.offsets[row + 1]].tolist()) == trigrams(found[rank]).tolist()
    of_row = [set(trigrams(found[rank]).tolist()) for rank in segment.ranks.tolist()]
    holding = {
        code: {row for row, codes in enumerate(of_row) if code in codes} for code in np.flatnonzero(own.frequencies).tolist()
    }
    assert set(holding) == set().union(*of_row)
    lists = -(-len(found) // LIST_BLOCK)
    for code, rows in holding.items():
        assert own.frequencies[code] == len(rows)
        listed = set(own.postings[own.starts[code * lists] : own.starts[code * lists + lists]].tolist())
        assert listed in ((rows,) if not len(own.shares) else (rows, set()))
        if len(own.shares):
            assert rows <= set(np.flatnonzero(bitmap(segment, own.bitmap_of[code])).tolist())
    for number in range(len(own.shares)):
        sharing = np.flatnonzero(own.bitmap_of == number)
        assert bitmap(segment, number).sum() == round(float(own.shares[number]) * len(found))
        assert set(np.flatnonzero(bitmap(segment, number)).tolist()) == set().union(*(holding[code] for code in sharing))
    assert len(own.bits) == (-(-len(found) // BLOCK) * (len(own.shares) + 1) * WORDS if len(own.shares) else 0)
    assert segment.find(["x", ""]).tolist() == [ABSENT, ABSENT]


@quiet
@given(texts, texts, st.integers(1, 30), st.floats(0, 1), st.data())
def test_the_kernels_agree_with_plain_numpy(
    found: list[str], queries: list[str], k: int, floor: float, data: st.DataObject
) -> None:
    segment = Segment.build(named(found), found)
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found))))
    codes, offsets = trigram_sets(queries)
    live, none = LiveRows(segment.layout, segment.ranks, alive), np.empty(0, np.int64)
    batch = Queries(codes, offsets, np.full(len(queries), floor), none, np.zeros(len(queries) + 1, np.int64))
    want = plain.search(live, batch, k)
    if len(segment.layout.shares):
        *got, verified = searching.search(live, batch, k, segment.blocks)
        assert (verified >= got[2]).all()
    else:
        got = list(counting.search(live, batch, k))
    for query, size in enumerate(want[2]):
        assert got[2][query] == size
        assert got[0][query, :size].tolist() == want[0][query, :size].tolist()
        assert got[1][query, :size].tolist() == want[1][query, :size].tolist()


@quiet
@given(texts, texts, st.data())
def test_a_merge_equals_building_from_the_living_rows(first: list[str], second: list[str], data: st.DataObject) -> None:
    all_texts = dict(enumerate(first + second))
    names = data.draw(st.permutations([f"{at:03}" for at in all_texts]))
    dead = sorted(data.draw(st.sets(st.sampled_from(names))))
    parts = [Part.of(Segment.build(names[: len(first)], first)), Part.of(Segment.build(names[len(first) :], second))]
    merged = parts[0].without(dead).merge(parts[1].without(dead)).segment
    kept = {name: all_texts[at] for at, name in enumerate(names) if name not in dead}
    built = Segment.build(list(kept), list(kept.values()))
    for name, array in built.arrays().items():
        assert merged.arrays()[name].tolist() == array.tolist(), name


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("sizes", lambda array: array[:-1]),
        ("sizes", lambda array: array[::-1]),
        ("offsets", lambda array: array + 1),
        ("offsets", lambda array: np.array([*array[:-1], array[-1] + 9])),
        ("id_offsets", lambda array: np.array([0, *array[2:], array[-1]])),
        ("ranks", lambda array: array + np.uint32(1000)),
        ("starts", lambda array: array[:-1]),
        ("starts", lambda array: array[::-1]),
        ("bitmap_of", lambda array: array + np.int32(1000)),
        ("bitmap_of", lambda array: array - np.int32(2000)),
        ("bits", lambda array: np.zeros(len(array) + 1, np.uint64)),
        ("frequencies", lambda array: array[:-1]),
        ("postings", lambda array: np.zeros(len(array) + 1, np.uint16)),
        ("codes", lambda array: array[:-1]),
    ],
)
def test_arrays_with_indices_out_of_bounds_are_refused(name: str, damage) -> None:  # type: ignore[no-untyped-def]
    arrays = Segment.build(["a", "b", "c"], ["soil", "water and soil", "soils"]).arrays()
    assert len(Segment.of_arrays(arrays, "here")) == 3
    with pytest.raises(UnusableSnapshot, match="here: its arrays are inconsistent"):
        Segment.of_arrays(arrays | {name: damage(arrays[name]).astype(arrays[name].dtype)}, "here")


def test_wrong_codes_and_postings_cause_no_access_out_of_bounds() -> None:
    """Values that opening a segment does not check cause wrong hits at worst."""
    found = [f"soil {at}" for at in range(50)]
    arrays = Segment.build(named(found), found).arrays()
    rng = np.random.default_rng(1)
    for name in ("codes", "postings"):
        wrong = rng.integers(0, 2**16, len(arrays[name])).astype(np.uint16)
        part = Part.of(Segment.of_arrays(arrays | {name: wrong}, "here"))
        codes, offsets = trigram_sets(["soil 13", "soil 9 soil"])
        queries = Queries(codes, offsets, np.zeros(2), np.empty(0, np.int64), np.zeros(3, np.int64))
        _, scores, count = part.search(queries, 5)
        assert (count <= 5).all()
        assert scores.shape == (2, 5)


def test_the_extents_of_blocks_are_their_smallest_and_largest_sizes() -> None:
    sizes = np.sort(np.random.default_rng(3).integers(0, 300, 2 * BLOCK + 5)).astype(np.uint16)
    found = extents(sizes)
    parts = np.split(sizes, [BLOCK, 2 * BLOCK])
    assert found.tolist() == [[number, int(part.min()), int(part.max())] for number, part in enumerate(parts)]
    assert extents(sizes[:0]).shape == (0, 3)
