"""Vertical counting in vectors against counting in numpy."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.lexical.cpu.vectors import LANES, ROWS, count_many_rows, count_rows, count_rows_plain, prefetch
from reflink.lexical.layout import aligned

WIDTH = 2 * LANES


def counter(count_in_vector):  # type: ignore[no-untyped-def]
    """Return a compiled function that counts rows of ``WIDTH`` words."""

    @numba.njit
    def count(bits, stride, rows, least, out):  # type: ignore[no-untyped-def]
        some = False
        for word in range(0, WIDTH, LANES):
            if count_in_vector(bits, word, stride, rows, 0, len(rows), least, out, word, 0):
                some = True
        return some

    return count


few, many = counter(count_rows), counter(count_many_rows)


@given(st.integers(0, 2**32), st.integers(1, 15), st.sampled_from([0.02, 0.5, 0.97]), st.data())
def test_both_counters_equal_counting_in_numpy(seed: int, groups: int, share: float, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    number = 40
    bits = np.zeros((number + 1, WIDTH), np.uint64)
    bits[:number] = np.packbits(rng.random((number, WIDTH * 64)) < share, axis=1, bitorder="little").view(np.uint64)
    rows = rng.integers(0, number, groups * ROWS).astype(np.int32)
    rows[len(rows) - data.draw(st.integers(0, ROWS - 1)) :] = number  # padding with the empty row
    least = data.draw(st.integers(1, len(rows)))
    want = count_rows_plain(bits, rows, least)
    for count in (few, many):
        out = np.full(WIDTH, 7, np.uint64)
        assert count(bits.ravel(), WIDTH, rows, least, out) == want.any()
        assert np.unpackbits(out.view(np.uint8), bitorder="little").astype(bool).tolist() == want.tolist()


@pytest.mark.parametrize("number", [255, 4000])
def test_counts_up_to_the_limit_of_the_planes(number: int) -> None:
    bits = np.full((2, WIDTH), 2**64 - 1, np.uint64)
    bits[1] = 0
    rows = np.zeros(-(-number // ROWS) * ROWS, np.int32)
    rows[number:] = 1
    for count in [few, many] if number < 256 else [many]:
        out = np.zeros(WIDTH, np.uint64)
        assert count(bits.ravel(), WIDTH, rows, number, out)
        assert (out == 2**64 - 1).all()
        assert not count(bits.ravel(), WIDTH, rows, number + 1 if number < 255 or count is many else 255, out) or number == 255


def test_without_rows_no_count_reaches_one() -> None:
    out = np.full(WIDTH, 7, np.uint64)
    assert not few(np.zeros(WIDTH, np.uint64), WIDTH, np.empty(0, np.int32), 1, out)
    assert not out.any()


def test_a_prefetch_beyond_the_array_does_not_fault() -> None:
    @numba.njit
    def prefetched(array, index):  # type: ignore[no-untyped-def]
        prefetch(array, index)
        return True

    assert prefetched(np.zeros(4, np.uint16), 10**12)
    assert prefetched(np.zeros(4, np.float64), np.uint32(3))


@given(st.integers(0, 200))
def test_bitmaps_are_aligned_to_a_cache_line(words: int) -> None:
    array = aligned(words)
    assert (len(array), array.ctypes.data % 64 if words else 0, array.any()) == (words, 0, False)
