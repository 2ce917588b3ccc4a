"""Tests of the search on a GPU in numba's simulator, which has to be chosen before numba is imported: run by test_device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import cuda

from benchmarks.gpu import lexical as gpu_lexical
from reflink.errors import DeviceTooSmall
from reflink.lexical.cpu import bounds, searching
from reflink.lexical.gpu import arrays as devicearrays
from reflink.lexical.gpu import kernels
from reflink.lexical.gpu.batches import Found
from reflink.lexical.gpu.segment import DeviceSegment
from reflink.lexical.layout import BLOCK, WORDS, Codes, Floats, Ints, Layout, LiveRows, Mask, Ranks, build
from reflink.lexical.queries import Queries
from reflink.lexical.trigrams import TRIGRAMS, trigram_sets
from tests.data import ROOT
from tests.profiles import examples

ROWS = BLOCK + 300
Best = list[tuple[float, int]]


class Catalog(NamedTuple):
    """Rows of tiny texts, many of them equal, and which live; the k best of a query by counting in numpy."""

    layout: Layout
    ranks: Ranks
    alive: Mask

    def best(self, wanted: Codes, k: int, floor: float) -> Best:
        marked = np.zeros(TRIGRAMS, np.int64)
        marked[wanted] = 1
        overlaps = np.diff(np.concatenate([[0], np.cumsum(marked[self.layout.codes])])[self.layout.offsets])
        a, b = len(wanted), self.layout.sizes.astype(np.int64)
        scores = 2 * overlaps / np.maximum(1, a + b + np.minimum(a, b) - overlaps)
        good = np.flatnonzero(self.alive & (overlaps > 0) & (scores >= floor))
        order = good[np.lexsort((self.ranks[good], -scores[good]))][:k]
        return [(float(scores[row]), int(row)) for row in order]


@pytest.fixture
def few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator starts a thread of Python for each one of the device, which takes most of its time."""
    for name, number in (("THREADS", 16), ("PARTS", 2), ("VERIFIED", 8)):
        monkeypatch.setattr(kernels, name, number)


def catalog_of(texts: list[str], dead: float = 0.1) -> Catalog:
    layout, ranks = build(*trigram_sets(texts))
    return Catalog(layout, ranks, np.random.default_rng(2).random(len(texts)) >= dead)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("abcdef"), rng.integers(2, 5))) for _ in range(60)]
    return catalog_of([" ".join(rng.choice(words, rng.integers(0, 4))) for _ in range(ROWS)])


@pytest.fixture(scope="module")
def placed(catalog: Catalog) -> DeviceSegment:
    return DeviceSegment(catalog.layout, catalog.ranks, batch=8)


def search(
    segment: DeviceSegment, catalog: Catalog, codes: Codes, offsets: Ints, k: int, floors: Floats, seeds: list[list[int]]
) -> list[Best]:
    """What the device finds, which is what counting and the CPU's search find."""
    flat = np.array([row for each in seeds for row in each], np.int64)
    seed_offsets = np.concatenate([[0], np.cumsum([len(each) for each in seeds])]).astype(np.int64)
    queries = Queries(codes, offsets, floors, flat, seed_offsets)
    found = segment.search(catalog.alive, queries, k)
    blocks = np.arange(-(-len(catalog.alive) // BLOCK))
    rows, scores, sizes, _ = searching.search(LiveRows(*catalog), queries, k, blocks)
    for query, size in enumerate(sizes):
        assert found.found[query] == size
        assert found.rows[query].tolist() == rows[query, :size].tolist() + [-1] * (k - size)
        assert found.scores[query].tolist() == scores[query, :size].tolist() + [0.0] * (k - size)
        wanted = codes[offsets[query] : offsets[query + 1]]
        best = list(zip(scores[query, :size].tolist(), rows[query, :size].tolist(), strict=True))
        assert best == catalog.best(wanted, k, floors[query])
    return [list(zip(found.scores[at].tolist(), found.rows[at].tolist(), strict=True))[:size] for at, size in enumerate(sizes)]


def text_of(catalog: Catalog, row: int) -> Codes:
    return catalog.layout.codes[catalog.layout.offsets[row] : catalog.layout.offsets[row + 1]]


def test_hits_are_those_of_the_cpu_and_of_counting(catalog: Catalog, placed: DeviceSegment) -> None:
    codes, offsets = trigram_sets(["abc def", "ad ce", "", "zzz", "ab", "fe cab bed fad"])
    none: list[list[int]] = [[]] * 6
    assert any(search(placed, catalog, codes, offsets, 5, np.zeros(6), none))


@pytest.mark.usefixtures("few_threads")
def test_more_queries_than_a_batch_are_several_batches(catalog: Catalog) -> None:
    codes, offsets = trigram_sets(["abc def", "ad ce", "fab"])
    segment = DeviceSegment(catalog.layout, catalog.ranks, batch=2)
    search(segment, catalog, codes, offsets, 2, np.zeros(3), [[5], [], [7, 8]])
    none = Queries(codes[:0], offsets[:1], np.zeros(0), offsets[:0], offsets[:1])
    assert len(segment.search(catalog.alive, none, 2).found) == 0


@pytest.mark.usefixtures("few_threads")
def test_floors_and_seeds_change_no_hit_and_spare_work(catalog: Catalog, placed: DeviceSegment) -> None:
    rows = [ROWS - 1, ROWS // 2, 2100]
    texts = [text_of(catalog, row)[:-1] for row in rows]
    codes, offsets = np.concatenate(texts), np.cumsum([0, *map(len, texts)]).astype(np.int64)
    dead = np.flatnonzero(~catalog.alive)[:2].tolist()
    # The row itself, twice, and ones that are dead or have nothing in common.
    seeds = [[row, 0, row, *dead] for row in rows]
    best = search(placed, catalog, codes, offsets, 2, np.zeros(3), seeds)
    search(placed, catalog, codes, offsets, 2, np.array([0.5, best[1][1][0], 1.5]), seeds)
    flat, seed_offsets = np.array(seeds).ravel(), np.arange(0, 16, 5)
    with_seeds = placed.search(catalog.alive, Queries(codes, offsets, np.zeros(3), flat, seed_offsets), 1)
    high = placed.search(catalog.alive, Queries(codes, offsets, np.full(3, 0.99), flat[:0], seed_offsets * 0), 1)
    assert high.verified < with_seeds.verified


@pytest.mark.usefixtures("few_threads")
def test_rows_that_die_are_hits_no_more(catalog: Catalog, placed: DeviceSegment) -> None:
    codes, offsets = trigram_sets(["abc def"])
    ((_, row), *_) = search(placed, catalog, codes, offsets, 1, np.zeros(1), [[]])[0]
    alive = catalog.alive.copy()
    alive[row] = False
    ((_, other), *_) = search(placed, catalog._replace(alive=alive), codes, offsets, 1, np.zeros(1), [[]])[0]
    assert other != row


@pytest.mark.usefixtures("few_threads")
@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("abc ", max_size=9), min_size=1, max_size=3), st.integers(1, 3), st.sampled_from([0.0, 0.3, 0.6]))
def test_whatever_is_asked_the_hits_are_those_of_counting(
    catalog: Catalog, placed: DeviceSegment, texts: list[str], k: int, floor: float
) -> None:
    codes, offsets = trigram_sets([" ".join(text.split()) for text in texts])
    search(placed, catalog, codes, offsets, k, np.full(len(texts), floor), [[]] * len(texts))


@pytest.mark.usefixtures("few_threads")
def test_no_row_is_lost_when_there_is_no_room_for_all() -> None:
    """Eighty rows tie: room for one query's alone, so the batch goes to halves. For k best of them, the smallest ranks."""
    texts = [*["soil fungi"] * 80, *[f"x{chr(97 + at % 26)}y" for at in range(BLOCK)]]
    catalog = catalog_of(texts, dead=0.0)
    segment = DeviceSegment(catalog.layout, catalog.ranks, batch=4)
    segment.room = 100  # type: ignore[misc]
    segment.near, segment.hits = (cuda.device_array((number, 100), np.int32) for number in (2, 3))
    codes, offsets = trigram_sets(["soil fungi", "soil fungus", "soil fungi"])
    best = search(segment, catalog, codes, offsets, 3, np.zeros(3), [[]] * 3)
    ties = catalog.best(codes[: offsets[1]], 80, 0.0)
    assert best[0] == best[2] == ties[:3]
    assert len({score for score, _ in ties}) == 1


@pytest.mark.usefixtures("few_threads")
@pytest.mark.parametrize("right", [True, False])
def test_the_benchmark_checks_and_times(
    right: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu_lexical, "K", 1)  # the runner-up of so few works is so bad that hundreds are verified
    ways = gpu_lexical.asked
    monkeypatch.setattr(gpu_lexical, "asked", lambda *given: {"with target": ways(*given)["with target"]})
    if not right:
        monkeypatch.setattr(DeviceSegment, "search", lambda *given: Found(*(np.zeros(1) for _ in range(3)), 0, 0))
    works = ROOT / "examples" / "works.jsonl"
    held, figures = gpu_lexical.measure(works, BLOCK + 10, "T", checked=1, batches=(1,), rounds=1)
    assert held == right
    assert set(figures["cases"]["with target"]["device_us"]) == {"1"}
    assert ("held" in capsys.readouterr().out) == right


@pytest.mark.usefixtures("few_threads")
def test_rows_have_credit_for_bitmaps_that_are_not_counted() -> None:
    """A block of its own for two long texts: the first is tried, the other reaches what is asked by its credit only."""
    long = "".join(np.random.default_rng(3).choice(list("abcdefghijklmno"), 900))
    catalog = catalog_of([long, long[60:], *["abc def"] * BLOCK], dead=0.0)
    codes, offsets = trigram_sets([long, long])
    assert offsets[1] > kernels.COUNTED
    (_, (least, _)) = catalog.best(codes[: offsets[1]], 2, 0.0)
    segment = DeviceSegment(catalog.layout, catalog.ranks, batch=2)
    assert [len(best) for best in search(segment, catalog, codes, offsets, 2, np.array([0.0, least]), [[], []])] == [2, 2]


def test_a_device_that_is_too_small_is_refused_with_the_numbers(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devicearrays, "free_bytes", lambda: 2.0**20)
    with pytest.raises(DeviceTooSmall, match=r"has 0\.00 GiB free: 2,348 texts need 0\.0. GiB, and a search of 4,096 queries"):
        DeviceSegment(catalog.layout, catalog.ranks)


def test_a_segment_without_bitmaps_stays_on_the_cpu() -> None:
    layout, ranks = build(*trigram_sets(["abc def"]))
    with pytest.raises(ValueError, match="no bitmaps"):
        DeviceSegment(layout, ranks)


@settings(max_examples=examples(300))
@given(st.floats(0, 1.1), st.integers(1, 600), st.integers(0, 600), st.integers(0, 50))
def test_bounds_are_those_of_the_cpu(least: float, a: int, b: int, more: int) -> None:
    assert kernels.needed(least, a, max(1, b)) == bounds.needed(least, a, max(1, b))
    assert kernels.reachable(least, a, b, b + more) == bounds.reachable(least, a, b, b + more)
    assert kernels.score(min(a, max(1, b)), a, max(1, b)) == bounds.score(min(a, max(1, b)), a, max(1, b))


@settings(max_examples=examples(40))
@given(st.integers(0, 31), st.integers(0, 600), st.floats(0, 1), st.integers(0, 2**32))
def test_counts_are_those_of_adding(parts: int, least: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    number = parts * 16
    held = rng.random((number + 1, 64)) < share
    held[:, 0] = True
    bits = np.zeros((number + 1) * WORDS, np.uint64)
    bits[5::WORDS] = np.packbits(held, axis=1, bitorder="little").view(np.uint64)[:, 0]
    chosen = rng.integers(0, number + 1, (2, max(1, number)))
    planes = kernels._count(bits, 5, (chosen * WORDS).astype(np.int32), 1, number)
    counts = held[chosen[1, :number]].sum(axis=0)
    assert kernels._greatest(planes) == counts.max()
    least = min(least, 511)
    enough = np.unpackbits(np.array([kernels._at_least(planes, least)], np.uint64).view(np.uint8), bitorder="little")
    assert enough.tolist() == (counts >= least).astype(int).tolist()
