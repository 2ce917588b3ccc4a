"""Tiles of the matrix product against numpy."""

import numba
import numpy as np
import pytest

from reflink.semantic.cpu.tiles import Shape, shape_of, tile
from reflink.storage.idtable import frozen

SHAPES = [Shape(16, 4, 6), Shape(8, 2, 4), Shape(4, 4, 3), Shape(8, 1, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_tile_writes_its_part_of_the_matrix_product_only(shape: Shape) -> None:
    rng = np.random.default_rng(1)
    for number in {1, 2, shape.queries}:
        multiply = tile(shape, number)

        @numba.njit
        def run(block, row, queries, query, scores, column, multiply=multiply):  # type: ignore[no-untyped-def]
            multiply(block, row, queries, query, scores, column)

        block = rng.standard_normal((11, 48)).astype(np.float16)
        queries = rng.standard_normal((number + 3, 48)).astype(np.float32)
        scores = np.full((number + 1, 13), -7, np.float32)
        run(frozen(block).view(np.uint16), 5, queries, 2, scores, 6)
        exact = queries[2 : 2 + number].astype(np.float64) @ block[5 : 5 + shape.rows].astype(np.float64).T
        assert np.abs(scores[:number, 6 : 6 + shape.rows] - exact).max() < 1e-5
        scores[:number, 6 : 6 + shape.rows] = -7
        assert (scores == -7).all()


def test_the_shape_of_a_tile_fits_the_registers() -> None:
    for features, registers in (({"avx512f": True}, 32), ({"avx2": True}, 16), ({}, 16)):
        shape = shape_of(features)
        assert shape.rows * (shape.queries + 1) + 1 <= registers
        assert shape.lanes % shape.rows == 0  # the sums of a query are in one register
