import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.idtable import frozen
from reflink.semantic import kernels


def test_every_finite_half_is_widened_exactly() -> None:
    halves = np.arange(65_536, dtype=np.uint16)
    finite = np.isfinite(halves.view(np.float16))
    block = frozen(halves[finite][:, None].copy())
    scores = np.empty((1, len(block)), np.float32)
    kernels.dot(block, np.ones((1, 1), np.float32), scores)
    assert scores[0].tolist() == block.view(np.float16)[:, 0].astype(np.float32).tolist()


@pytest.mark.parametrize("queries", range(1, 10))
@pytest.mark.parametrize("dim", [1, 7, 384])
def test_dot_is_the_matrix_product(queries: int, dim: int) -> None:
    rng = np.random.default_rng(queries)
    block = frozen(rng.standard_normal((33, dim)).astype(np.float16))
    vectors = rng.standard_normal((queries, dim)).astype(np.float32)
    scores = np.full((queries, 40), -7, np.float32)
    kernels.dot(block.view(np.uint16), vectors, scores)
    exact = vectors.astype(np.float64) @ block.astype(np.float64).T
    assert np.abs(scores[:, :33] - exact).max() < 1e-6 * dim
    assert (scores[:, 33:] == -7).all()


@given(st.lists(st.lists(st.integers(-5, 5), min_size=1, max_size=12), min_size=1, max_size=4), st.integers(1, 6), st.data())
def test_select_loses_no_row_that_may_be_among_the_best(blocks: list[list[int]], k: int, data: st.DataObject) -> None:
    margin = 1.5
    best = np.full(k, -np.inf, np.float32)
    kept, living = set[tuple[int, int]](), list[tuple[float, int, int]]()
    for number, values in enumerate(blocks):
        scores = np.array(values, np.float32)
        alive = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
        rows, scored = np.empty(len(values), np.int64), np.empty(len(values), np.float32)
        size = kernels.select(scores, alive, best, margin, rows, scored)
        assert scored[:size].tolist() == scores[rows[:size]].tolist()
        kept |= {(number, row) for row in rows[:size].tolist()}
        living += [(value, number, row) for row, value in enumerate(values) if alive[row]]
    top = sorted((value for value, _, _ in living), reverse=True)[:k]
    assert sorted(best[np.isfinite(best)].tolist(), reverse=True) == top
    lowest = top[-1] if len(top) == k else -np.inf
    assert {(number, row) for value, number, row in living if value >= lowest - margin} <= kept
