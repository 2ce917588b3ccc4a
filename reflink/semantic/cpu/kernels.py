"""Compiled scores of fp16 rows against fp32 queries. Rows are passed as their bits (``uint16``): numba has no type for fp16.

A single query is bound by memory bandwidth; a batch by the multiply-adds, of which a core starts two registers per cycle. Cost
of a query over 265,158 rows of 384 dimensions on one core (``benchmarks/semantic/search.py``): alone 7.5 ms, of which reading
takes 5.3; in a batch of 512 1.17 ms, of which the multiply-adds take 0.89 (BLAS in fp32: 3.8). Prefetching the next rows gained
nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.extending import intrinsic

from reflink.compiled import compiled
from reflink.semantic.cpu.tiles import HOST, tile

Bits = npt.NDArray[np.uint16]
Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Rows scored against all queries before the next rows, so that rows and scores stay in the core's caches.
TILE: Final = 64

#: Compiler flags: sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
_ANY_ORDER: Final = {"reassoc", "contract", "nsz"}
_LANES, _ROWS, _QUERIES = HOST
_tile2, _tile3, _tile4 = (tile(HOST, number) for number in (2, 3, 4))
_tile5, _tile6 = (tile(HOST, min(number, _QUERIES)) for number in (5, 6))


@intrinsic  # type: ignore[untyped-decorator]
def _widen(typing_context: Any, bits: Any) -> Any:
    """Convert fp16 bits to float32, exactly: one processor instruction for a whole register."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return numba.float32(numba.uint16), generate


@compiled(nogil=True, fastmath=_ANY_ORDER)
def dot(block: Bits, start: int, stop: int, queries: Floats, query: int, number: int, scores: Floats) -> None:
    """Write ``scores[j, r] = queries[query + j] · block[start + r]`` for ``j < number`` and rows below ``stop``, in float32.

    ``number`` is at most ``tiles.HOST.queries``. Rows whose length is not a multiple of a register, remaining rows, and a
    single query, which is bound by memory anyway, are computed one by one.
    """
    row = start
    if number > 1 and block.shape[1] % _LANES == 0:
        while row + _ROWS <= stop:
            if number == 2:
                _tile2(block, row, queries, query, scores, row - start)
            elif number == 3:
                _tile3(block, row, queries, query, scores, row - start)
            elif number == 4:
                _tile4(block, row, queries, query, scores, row - start)
            elif number == 5:
                _tile5(block, row, queries, query, scores, row - start)
            else:
                _tile6(block, row, queries, query, scores, row - start)
            row += _ROWS
    for j in range(number):
        wanted = queries[query + j]
        for left in range(row, stop):
            line = block[left]
            total = np.float32(0)
            for at in range(len(wanted)):
                total += _widen(line[at]) * wanted[at]
            scores[j, left - start] = total


@compiled(nogil=True, fastmath={"nnan", "nsz"})
def _highest(scores: Floats, number: int) -> np.float32:
    """Return the highest of the first ``number`` scores, none of them NaN."""
    highest = np.float32(-np.inf)
    for at in range(number):
        score = scores[at]
        highest = score if score > highest else highest
    return highest


@compiled(nogil=True)
def _raise_bound(best: Floats, score: float) -> None:
    """Replace the lowest score of a min-heap by ``score``."""
    at, k = 0, len(best)
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        if child + 1 < k and best[child + 1] < best[child]:
            child += 1
        if best[child] >= score:
            break
        best[at] = best[child]
        at = child
    best[at] = score


@compiled(nogil=True)
def scan(
    block: Bits, alive: Mask, start: int, queries: Floats, best: Floats, margin: float, base: int,
    query_of: Rows, row_of: Rows, score_of: Floats, size: int,
) -> tuple[int, int]:  # fmt: skip
    """Append the rows of a block, from ``start`` on, that may be among the best of a query; return the new size and next row.

    ``best`` [n, k]: the k highest scores of each query so far, as a min-heap; updated. A row is appended unless its score is
    more than ``margin`` below the k-th best. Row i of the block is written as ``base`` + i. Stops before the end of the block
    if there is no room for ``TILE`` rows of all queries.
    """
    number = queries.shape[0]
    parts = (number + _QUERIES - 1) // _QUERIES
    scores = np.empty((_QUERIES, TILE), np.float32)
    row = start
    while row < block.shape[0]:
        stop = min(row + TILE, block.shape[0])
        if size + (stop - row) * number > len(query_of):
            break
        query = 0
        for part in range(parts):
            following = number * (part + 1) // parts
            dot(block, row, stop, queries, query, following - query, scores)
            for j in range(following - query):
                heap = best[query + j]
                bound = np.float32(heap[0] - margin)
                if not _highest(scores[j], stop - row) >= bound:
                    continue
                for at in range(stop - row):
                    score = scores[j, at]
                    if not score >= bound or not alive[row + at]:
                        continue
                    query_of[size], row_of[size], score_of[size] = query + j, base + row + at, score
                    size += 1
                    if score > heap[0]:
                        _raise_bound(heap, score)
                        bound = np.float32(heap[0] - margin)
            query = following
        row = stop
    return size, row


@compiled(nogil=True, fastmath=_ANY_ORDER)
def exact(block: Bits, rows: Rows, queries: Floats, query_of: Rows, scores: Floats) -> None:
    """Write ``scores[i] = queries[query_of[i]] · block[rows[i]]``, summed in float64 and rounded to float32."""
    for i in range(len(rows)):
        line, wanted = block[rows[i]], queries[query_of[i]]
        total = 0.0
        for at in range(len(wanted)):
            total += np.float64(_widen(line[at])) * np.float64(wanted[at])
        scores[i] = np.float32(total)


@compiled(nogil=True)
def gather_bytes(blob: npt.NDArray[np.uint8], offsets: Rows, rows: Rows) -> tuple[npt.NDArray[np.uint8], Rows]:
    """Return the concatenated bytes of these rows and their offsets: int64 [n + 1]."""
    begins = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        begins[i + 1] = begins[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    gathered = np.empty(begins[-1], np.uint8)
    for i in range(len(rows)):
        start = offsets[rows[i]]
        for at in range(begins[i + 1] - begins[i]):
            gathered[begins[i] + at] = blob[start + at]
    return gathered, begins
