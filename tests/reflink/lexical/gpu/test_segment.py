"""Tests of the search on a GPU: the real kernels on a simulated device, compared with the CPU's search."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.gpu import lexical as gpu_lexical
from reflink.errors import DeviceTooSmall
from reflink.lexical.cpu import bounds, plain, searching
from reflink.lexical.gpu import kernels
from reflink.lexical.gpu.batches import Found
from reflink.lexical.gpu.segment import DeviceSegment
from reflink.lexical.layout import BLOCK, WORDS, Codes, Floats, Ints, LiveRows, build, extents
from reflink.lexical.queries import Queries
from reflink.lexical.trigrams import trigram_sets
from tests.data import ROOT
from tests.profiles import examples
from tests.reflink.lexical.gpu.simulated import SimulatedDevice, library

ROWS = BLOCK + 300
Best = list[tuple[float, int]]


def catalog_of(texts: list[str], dead: float = 0.1) -> LiveRows:
    layout, ranks = build(*trigram_sets(texts))
    return LiveRows(layout, ranks, np.random.default_rng(2).random(len(texts)) >= dead)


@pytest.fixture(scope="module")
def catalog() -> LiveRows:
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("abcdef"), rng.integers(2, 5))) for _ in range(60)]
    return catalog_of([" ".join(rng.choice(words, rng.integers(0, 4))) for _ in range(ROWS)])


@pytest.fixture(scope="module")
def placed(catalog: LiveRows) -> DeviceSegment:
    return DeviceSegment(catalog.layout, catalog.ranks, batch=8, device=SimulatedDevice())


def search(
    segment: DeviceSegment, catalog: LiveRows, codes: Codes, offsets: Ints, k: int, floors: Floats, seeds: list[list[int]]
) -> list[Best]:
    """Search on the device; check that the CPU's search and plain numpy find the same; return score and row of each hit."""
    flat = np.array([row for each in seeds for row in each], np.int64)
    seed_offsets = np.concatenate([[0], np.cumsum([len(each) for each in seeds])]).astype(np.int64)
    queries = Queries(codes, offsets, floors, flat, seed_offsets)
    found = segment.search(catalog.alive, queries, k)
    blocks = extents(catalog.layout.sizes)
    for rows, scores, sizes in (searching.search(catalog, queries, k, blocks)[:3], plain.search(catalog, queries, k)):
        behind = np.arange(k) >= sizes[:, None]
        assert found.found.tolist() == sizes.tolist()
        assert found.rows.tolist() == np.where(behind, -1, rows).tolist()
        assert found.scores.tolist() == np.where(behind, 0.0, scores).tolist()
    return [list(zip(found.scores[at].tolist(), found.rows[at].tolist(), strict=True))[:size] for at, size in enumerate(sizes)]


def text_of(catalog: LiveRows, row: int) -> Codes:
    return catalog.layout.codes[catalog.layout.offsets[row] : catalog.layout.offsets[row + 1]]


def test_hits_equal_those_of_the_cpu(catalog: LiveRows, placed: DeviceSegment) -> None:
    codes, offsets = trigram_sets(["abc def", "ad ce", "", "zzz", "ab", "fe cab bed fad"])
    none: list[list[int]] = [[]] * 6
    assert any(search(placed, catalog, codes, offsets, 5, np.zeros(6), none))


def test_more_queries_than_a_batch_are_searched_in_several_batches(catalog: LiveRows) -> None:
    codes, offsets = trigram_sets(["abc def", "ad ce", "fab"])
    segment = DeviceSegment(catalog.layout, catalog.ranks, batch=2, device=SimulatedDevice())
    search(segment, catalog, codes, offsets, 2, np.zeros(3), [[5], [], [7, 8]])
    none = Queries(codes[:0], offsets[:1], np.zeros(0), offsets[:0], offsets[:1])
    assert len(segment.search(catalog.alive, none, 2).found) == 0


def test_floors_and_seeds_change_no_hit_and_reduce_the_work(catalog: LiveRows, placed: DeviceSegment) -> None:
    rows = [ROWS - 1, ROWS // 2, 2100]
    texts = [text_of(catalog, row)[:-1] for row in rows]
    codes, offsets = np.concatenate(texts), np.cumsum([0, *map(len, texts)]).astype(np.int64)
    dead = np.flatnonzero(~catalog.alive)[:2].tolist()
    # The row itself, twice, and rows that are dead or have no common trigram.
    seeds = [[row, 0, row, *dead] for row in rows]
    best = search(placed, catalog, codes, offsets, 2, np.zeros(3), seeds)
    search(placed, catalog, codes, offsets, 2, np.array([0.5, best[1][1][0], 1.5]), seeds)
    flat, seed_offsets = np.array(seeds).ravel(), np.arange(0, 16, 5)
    with_seeds = placed.search(catalog.alive, Queries(codes, offsets, np.zeros(3), flat, seed_offsets), 1)
    high = placed.search(catalog.alive, Queries(codes, offsets, np.full(3, 0.99), flat[:0], seed_offsets * 0), 1)
    assert high.verified < with_seeds.verified


def test_removed_rows_are_not_found(catalog: LiveRows, placed: DeviceSegment) -> None:
    codes, offsets = trigram_sets(["abc def"])
    ((_, row), *_) = search(placed, catalog, codes, offsets, 1, np.zeros(1), [[]])[0]
    alive = catalog.alive.copy()
    alive[row] = False
    ((_, other), *_) = search(placed, catalog._replace(alive=alive), codes, offsets, 1, np.zeros(1), [[]])[0]
    assert other != row


@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("abc ", max_size=9), min_size=1, max_size=3), st.integers(1, 3), st.sampled_from([0.0, 0.3, 0.6]))
def test_hits_of_any_queries_equal_those_of_the_cpu(
    catalog: LiveRows, placed: DeviceSegment, texts: list[str], k: int, floor: float
) -> None:
    codes, offsets = trigram_sets([" ".join(text.split()) for text in texts])
    search(placed, catalog, codes, offsets, k, np.full(len(texts), floor), [[]] * len(texts))


def test_a_batch_without_room_for_all_rows_is_halved_and_loses_none() -> None:
    """Eighty rows tie, and there is room for the rows of one query only, so the batch is halved."""
    texts = [*["soil fungi"] * 80, *[f"x{chr(97 + at % 26)}y" for at in range(BLOCK)]]
    catalog = catalog_of(texts, dead=0.0)
    segment = DeviceSegment(catalog.layout, catalog.ranks, batch=4, device=SimulatedDevice(), room=100)
    codes, offsets = trigram_sets(["soil fungi", "soil fungus", "soil fungi"])
    best = search(segment, catalog, codes, offsets, 3, np.zeros(3), [[]] * 3)
    assert best[0] == best[2]
    assert [(score, catalog.ranks[row]) for score, row in best[0]] == [(1.0, 0), (1.0, 1), (1.0, 2)]


@settings(max_examples=examples(12))
@given(st.data())
def test_hits_over_any_catalog_equal_those_of_the_cpu(data: st.DataObject) -> None:
    """Catalogs of one to four blocks, more queries than a thread block counts, any k, floors and seeds, little room."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    letters = list("abcdefghijklmnopqrst"[: data.draw(st.integers(4, 20))])
    number = data.draw(st.integers(BLOCK, 4 * BLOCK))
    words = ["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(200)]
    texts = [" ".join(rng.choice(words, rng.integers(0, 12))) for _ in range(number)]
    catalog = catalog_of(texts, dead=data.draw(st.sampled_from([0.0, 0.3])))
    count = data.draw(st.sampled_from([1, 15, kernels.GROUP + 20]))
    wanted = [" ".join([*texts[at].split()[:-1], *rng.choice(words, 1)]) for at in rng.integers(0, number, count)]
    codes, offsets = trigram_sets(wanted)
    k, floors = data.draw(st.integers(1, 40)), rng.choice([0.0, 0.4, 0.8], count)
    seeds = [rng.integers(0, number, rng.integers(0, 4)).tolist() for _ in range(count)]
    room = data.draw(st.sampled_from([None, 4 * BLOCK]))
    segment = DeviceSegment(catalog.layout, catalog.ranks, batch=count, device=SimulatedDevice(), room=room)
    search(segment, catalog, codes, offsets, k, floors, seeds)


@pytest.mark.parametrize("right", [True, False])
def test_the_benchmark_checks_and_times(
    right: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = gpu_lexical.kinds_of_queries
    monkeypatch.setattr(gpu_lexical, "kinds_of_queries", lambda *given: {"with target": kinds(*given)["with target"]})
    if not right:
        search = DeviceSegment.search

        def wrong(*given: Any) -> Found:
            found = search(*given)
            return found._replace(scores=np.zeros_like(found.scores))

        monkeypatch.setattr(DeviceSegment, "search", wrong)
    works = ROOT / "examples" / "works.jsonl"
    held, figures = gpu_lexical.measure(works, BLOCK + 10, "T", device=SimulatedDevice(), checked=12, batches=(1, 12), rounds=1)
    assert held == right
    assert set(figures["cases"]["with target"]["device_us"]) == {"1", "12"}
    assert ("BROKEN with target" in capsys.readouterr().out) != right


def test_rows_are_credited_for_bitmaps_that_are_not_counted() -> None:
    """Two long texts in a block of their own: the first is tried, the other reaches the required count by its credit only."""
    long = "".join(np.random.default_rng(3).choice(list("abcdefghijklmno"), 900))
    catalog = catalog_of([long, long[60:], *["abc def"] * BLOCK], dead=0.0)
    codes, offsets = trigram_sets([long, long])
    assert offsets[1] > kernels.COUNTED
    wanted, own = codes[: offsets[1]], catalog.layout
    least = np.sort(plain.scores(plain.overlaps(own.codes, own.offsets, wanted), len(wanted), own.sizes))[-2]
    segment = DeviceSegment(catalog.layout, catalog.ranks, batch=2, device=SimulatedDevice())
    assert [len(best) for best in search(segment, catalog, codes, offsets, 2, np.array([0.0, least]), [[], []])] == [2, 2]


def test_a_device_without_enough_memory_is_refused_with_the_numbers(catalog: LiveRows) -> None:
    with pytest.raises(DeviceTooSmall, match=r"has 0\.00 GiB free: 2,348 texts need 0\.0. GiB, and a search of 4,096 queries"):
        DeviceSegment(catalog.layout, catalog.ranks, device=SimulatedDevice(2.0**20))


def test_a_segment_without_bitmaps_is_refused() -> None:
    layout, ranks = build(*trigram_sets(["abc def"]))
    with pytest.raises(ValueError, match="no bitmaps"):
        DeviceSegment(layout, ranks, device=SimulatedDevice())


@settings(max_examples=examples(300))
@given(st.floats(0, 1.1), st.integers(1, 600), st.integers(0, 600), st.integers(0, 50))
def test_bounds_equal_those_of_the_cpu(least: float, a: int, b: int, more: int) -> None:
    host = library()
    host.host_score.restype, host.host_needed.restype = ctypes.c_double, ctypes.c_int64
    host.host_reachable.restype = ctypes.c_bool
    whole, bound = ctypes.c_int64, ctypes.c_double(least)
    b = max(1, b)
    assert host.host_needed(bound, whole(a), whole(b)) == bounds.needed(least, a, b)
    assert host.host_reachable(bound, whole(a), whole(b), whole(b + more)) == bounds.reachable(least, a, b, b + more)
    for overlap in (0, 1, min(a, b)):
        assert host.host_score(whole(overlap), whole(a), whole(b)) == bounds.score(overlap, a, b)


@settings(max_examples=examples(40))
@given(st.integers(0, 31), st.integers(0, 511), st.floats(0, 1), st.integers(0, 2**32))
def test_counts_equal_sums_of_bits(parts: int, least: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    number = parts * 16
    held = rng.random((number + 1, 64)) < share
    held[:, 0] = True
    bits = np.zeros((number + 1) * WORDS, np.uint64)
    bits[5::WORDS] = np.packbits(held, axis=1, bitorder="little").view(np.uint64)[:, 0]
    chosen = rng.integers(0, number + 1, max(1, number))
    greatest, enough = ctypes.c_uint(), ctypes.c_uint64()
    places = (chosen * WORDS).astype(np.int32)
    library().host_count(
        ctypes.c_void_p(bits[5:].ctypes.data), ctypes.c_void_p(places.ctypes.data), number, least,
        ctypes.byref(greatest), ctypes.byref(enough),
    )  # fmt: skip
    counts = held[chosen[:number]].sum(axis=0)
    assert greatest.value == counts.max(initial=0)
    mask = np.unpackbits(np.array([enough.value], np.uint64).view(np.uint8), bitorder="little")
    assert mask.tolist() == (counts >= least).astype(int).tolist()


def test_importing_the_search_imports_no_module_of_the_gpu() -> None:
    script = "import sys, reflink.lexical; print([name for name in sys.modules if name.startswith('reflink.lexical.gpu')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"
