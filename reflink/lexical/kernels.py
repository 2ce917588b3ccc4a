"""Posting lists of trigrams: built, merged, counted, in compiled loops; numpy twins of the counting stand beside them.

A *segment* numbers its n texts by rows 0..n-1. ``starts``: int64 [50,654]; ``postings[starts[t]:starts[t + 1]]``: uint32, the
rows that hold trigram t, ascending. ``sizes``: uint16 [n], the number of distinct trigrams of each row.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint16]
Postings = npt.NDArray[np.uint32]
Sizes = npt.NDArray[np.uint16]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def build(text: npt.NDArray[np.uint8], offsets: Rows, trigrams: int) -> tuple[Sizes, Rows, Postings]:
    """``sizes``, ``starts`` and ``postings`` of texts given as letter numbers end to end."""
    rows = len(offsets) - 1
    sizes, starts = np.zeros(rows, np.uint16), np.zeros(trigrams + 1, np.int64)
    last = np.full(trigrams, -1, np.int64)  # the last row that had each trigram: a row counts once
    for row in range(rows):
        for at in range(offsets[row], offsets[row + 1] - 2):
            code = (np.int64(text[at]) * 37 + text[at + 1]) * 37 + text[at + 2]
            if last[code] != row:
                last[code] = row
                sizes[row] += 1
                starts[code + 1] += 1
    for code in range(trigrams):
        starts[code + 1] += starts[code]
    postings = np.empty(starts[trigrams], np.uint32)
    free = starts[:-1].copy()
    last[:] = -1
    for row in range(rows):
        for at in range(offsets[row], offsets[row + 1] - 2):
            code = (np.int64(text[at]) * 37 + text[at + 1]) * 37 + text[at + 2]
            if last[code] != row:
                last[code] = row
                postings[free[code]] = row
                free[code] += 1
    return sizes, starts, postings


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def merge(
    a_starts: Rows, a_postings: Postings, a_rows: Rows, b_starts: Rows, b_postings: Postings, b_rows: Rows, length: int
) -> tuple[Rows, Postings]:
    """Posting lists of two segments in the numbering of their union: ``a_rows``, ``b_rows`` ascend, negative rows are dropped.

    ``length``: the number of postings that stay.
    """
    starts, postings = np.zeros(len(a_starts), np.int64), np.empty(length, np.uint32)
    size = 0
    for code in range(len(a_starts) - 1):
        i, i_end = a_starts[code], a_starts[code + 1]
        j, j_end = b_starts[code], b_starts[code + 1]
        while i < i_end or j < j_end:
            a = a_rows[a_postings[i]] if i < i_end else np.int64(-1)
            b = b_rows[b_postings[j]] if j < j_end else np.int64(-1)
            if i < i_end and a < 0:
                i += 1
            elif j < j_end and b < 0:
                j += 1
            elif j == j_end or (i < i_end and a < b):
                postings[size] = a
                size += 1
                i += 1
            else:
                postings[size] = b
                size += 1
                j += 1
        starts[code + 1] = size
    return starts, postings


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def count(codes: Codes, starts: Rows, postings: Postings, overlaps: npt.NDArray[np.uint16]) -> None:
    """``overlaps[row]`` = how many of ``codes`` the row holds."""
    overlaps[:] = 0
    for code in codes:
        for at in range(starts[code], starts[np.int64(code) + 1]):
            overlaps[postings[at]] += np.uint16(1)


def count_numpy(codes: Codes, starts: Rows, postings: Postings, rows: int) -> npt.NDArray[np.int64]:
    """The same in numpy, to read and to test against."""
    lists = [postings[starts[code] : starts[code + 1]] for code in codes.astype(np.int64)]
    return np.bincount(np.concatenate([np.empty(0, np.uint32), *lists]), minlength=rows)


def best_numpy(overlaps: npt.NDArray[Any], sizes: Sizes, alive: Mask, a: int, k: int) -> tuple[Rows, Floats]:
    """Rows and scores of the k best of one query of ``a`` trigrams, best first, ties by row; overlap 0 is no hit."""
    o, b = overlaps.astype(np.int64), sizes.astype(np.int64)
    rows = np.flatnonzero(alive & (o > 0))
    scores = 2 * o[rows] / (a + b[rows] + np.minimum(a, b[rows]) - o[rows])
    order = np.argsort(-scores, kind="stable")[:k]
    return rows[order], scores[order]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def search(
    codes: Codes, offsets: Rows, starts: Rows, postings: Postings, sizes: Sizes, alive: Mask, k: int
) -> tuple[Rows, Floats, Rows]:
    """The k best rows of each query: rows and scores [n, k] in no order, and how many each query has.

    A row is kept before another when its score is higher, or equal and the row smaller.
    """
    queries = len(offsets) - 1
    rows, scores = np.empty((queries, k), np.int64), np.empty((queries, k), np.float64)
    found = np.zeros(queries, np.int64)
    overlaps = np.empty(len(sizes), np.uint16)
    for query in range(queries):
        wanted = codes[offsets[query] : offsets[query + 1]]
        if len(wanted) == 0:
            continue
        count(wanted, starts, postings, overlaps)
        a, size = np.int64(len(wanted)), 0
        for row in range(len(sizes)):
            if overlaps[row] == 0 or not alive[row]:
                continue
            o, b = np.int64(overlaps[row]), np.int64(sizes[row])
            score = 2.0 * o / (a + b + min(a, b) - o)
            if size < k:
                _rise(rows[query], scores[query], size, row, score)
                size += 1
            elif score > scores[query, 0]:  # rows ascend: an equal score never displaces
                _sink(rows[query], scores[query], size, row, score)
        found[query] = size
    return rows, scores, found


@numba.njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _worse(score: float, row: int, other_score: float, other_row: int) -> bool:
    return score < other_score or (score == other_score and row > other_row)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _rise(rows: Rows, scores: Floats, at: int, row: int, score: float) -> None:
    """Puts a candidate at the end of the heap whose root is the worst, and lifts it to its place."""
    while at > 0:
        parent = (at - 1) // 2
        if not _worse(score, row, scores[parent], rows[parent]):
            break
        rows[at], scores[at] = rows[parent], scores[parent]
        at = parent
    rows[at], scores[at] = row, score


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _sink(rows: Rows, scores: Floats, size: int, row: int, score: float) -> None:
    """Replaces the root, the worst candidate, and lowers the new one to its place."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _worse(scores[child + 1], rows[child + 1], scores[child], rows[child]):
            child += 1
        if not _worse(scores[child], rows[child], score, row):
            break
        rows[at], scores[at] = rows[child], scores[child]
        at = child
    rows[at], scores[at] = row, score
