"""The compiled scores against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.semantic.cpu import kernels
from reflink.semantic.cpu.tiles import HOST
from reflink.storage.idtable import frozen, pack


def test_every_finite_fp16_value_is_widened_exactly() -> None:
    halves = np.arange(65_536, dtype=np.uint16)
    finite = np.isfinite(halves.view(np.float16))
    block = frozen(halves[finite][:, None].copy())
    scores = np.empty((1, len(block)), np.float32)
    kernels.dot(block, 0, len(block), np.ones((1, 1), np.float32), 0, 1, scores)
    assert scores[0].tolist() == block.view(np.float16)[:, 0].astype(np.float32).tolist()


@pytest.mark.parametrize("queries", range(1, HOST.queries + 1))
@pytest.mark.parametrize("dim", [1, 7, 16, 384])
def test_dot_is_the_matrix_product(queries: int, dim: int) -> None:
    rng = np.random.default_rng(queries)
    block = frozen(rng.standard_normal((40, dim)).astype(np.float16))
    vectors = rng.standard_normal((queries + 2, dim)).astype(np.float32)
    scores = np.full((queries + 1, 40), -7, np.float32)
    kernels.dot(block.view(np.uint16), 2, 35, vectors, 1, queries, scores)
    exact = vectors[1 : 1 + queries].astype(np.float64) @ block[2:35].astype(np.float64).T
    assert np.abs(scores[:queries, :33] - exact).max() < 1e-6 * dim
    scores[:queries, :33] = -7
    assert (scores == -7).all()


blocks = st.lists(st.lists(st.integers(-5, 5), min_size=1, max_size=40), min_size=1, max_size=4)


@given(blocks, st.integers(1, 6), st.integers(1, 9), st.data())
def test_scan_finds_every_row_that_may_be_among_the_best(
    values: list[list[int]], k: int, number: int, data: st.DataObject
) -> None:
    """Rows of one dimension; queries 1, 2, 3, … so that scores are known."""
    margin, queries = 1.5, np.arange(1, number + 1, dtype=np.float32)[:, None]
    best = np.full((number, k), -np.inf, np.float32)
    room = data.draw(st.integers(kernels.TILE * number, 300 * number))
    query_of, row_of, score_of = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float32)
    kept, living, base = set[tuple[int, int]](), list[tuple[int, int]](), 100
    for block in values:
        rows = frozen(np.repeat(np.array(block, np.float16), 5)[:, None])
        alive = frozen(np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))))
        row = 0
        while row < len(rows):
            size, row = kernels.scan(
                rows.view(np.uint16), alive, row, queries, best, margin, base, query_of, row_of, score_of, 0
            )  # fmt: skip
            found = list(zip(query_of[:size].tolist(), row_of[:size].tolist(), score_of[:size].tolist(), strict=True))
            for query, at, score in found:
                assert score == (query + 1) * float(rows[at - base, 0])
                assert alive[at - base]
            kept |= {(query, at) for query, at, _ in found}
        living += [(int(value), base + at) for at, value in enumerate(rows[:, 0].tolist()) if alive[at]]
        base += len(rows)
    for query in range(number):
        top = sorted(((query + 1) * value for value, _ in living), reverse=True)[:k]
        assert sorted(best[query][np.isfinite(best[query])].tolist(), reverse=True) == top
        lowest = top[-1] if len(top) == k else -np.inf
        assert {(query, at) for value, at in living if (query + 1) * value >= lowest - margin} <= kept


def test_scan_stops_where_a_full_tile_would_not_fit() -> None:
    rows = frozen(np.ones((3 * kernels.TILE, 1), np.float16)).view(np.uint16)
    room = 2 * kernels.TILE + 1
    arrays = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float32)
    best = np.full((1, 1), -np.inf, np.float32)
    alive = frozen(np.ones(len(rows), np.bool_))
    assert kernels.scan(rows, alive, 0, np.ones((1, 1), np.float32), best, 0.0, 0, *arrays, 0) == (2 * kernels.TILE,) * 2


def test_exact_sums_equal_those_of_float64_in_any_order() -> None:
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((200, 384))
    rows = frozen((rows / np.linalg.norm(rows, axis=1)[:, None]).astype(np.float16))
    near = rows[:50].astype(np.float64) + 0.01 * rng.standard_normal((50, 384))
    near /= np.linalg.norm(near, axis=1)[:, None]
    queries = (np.rint(near * 2.0**28) / 2.0**28).astype(np.float32)
    queries = (np.rint(queries * np.float32(2.0**28)) / np.float32(2.0**28)).astype(np.float32)
    which, query_of = rng.integers(0, 200, 3000), rng.integers(0, 50, 3000)
    products = rows[which].astype(np.float64) * queries[query_of]
    orders = [products, products[:, ::-1], np.sort(products, axis=1), products[:, rng.permutation(384)]]
    sums = [np.cumsum(order, axis=1)[:, -1] for order in orders]
    assert all((one == sums[0]).all() for one in sums)
    scores = np.empty(3000, np.float32)
    kernels.exact(rows.view(np.uint16), which, queries, query_of, scores)
    assert scores.tolist() == sums[0].astype(np.float32).tolist()


@given(st.lists(st.text(max_size=5), min_size=1), st.data())
def test_gather_bytes_concatenates_the_bytes_of_rows(texts: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    gathered, begins = kernels.gather_bytes(*pack(texts), np.array(rows, np.int64))
    assert gathered.tobytes() == b"".join(texts[row].encode("utf-8", "surrogatepass") for row in rows)
    assert np.diff(begins).tolist() == [len(texts[row].encode("utf-8", "surrogatepass")) for row in rows]
