"""The exact search on the CPU: score all rows in float32, then score exactly the rows that may be among the best.

Two float32 scores may each be wrong by ``error_of_sums``. So a row whose score is below the k-th best by more than twice that,
the margin, is not among the k best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Final

import numpy as np

from reflink.semantic.cpu import kernels
from reflink.semantic.cpu.rows import Block, Rows, Single, View
from reflink.storage.idtable import frozen

#: Max queries per pass over the matrix.
QUERIES: Final = 256

#: Min rows per thread.
LEAST_ROWS: Final = 8192

#: Query, row and score of each row found. They include the k best rows of each query and all rows that tie with the last one.
Found = tuple[Rows, Rows, Single]


def scan(view: View, queries: Single, k: int, threads: int, pool: Callable[[], Executor]) -> Iterator[Found]:
    """Yield the rows from which the best ``k`` of each query are chosen, with exact scores; ``k`` is at most ``view.count``.

    Up to ``threads`` parts of the rows are read concurrently, in ``pool()`` if there is more than one.
    """
    blocks = list(view.blocks())
    parts = max(1, min(threads, view.rows // LEAST_ROWS, len(blocks)))
    shares = [blocks[len(blocks) * part // parts : len(blocks) * (part + 1) // parts] for part in range(parts)]
    margin = error_of_sums(view.dim) * 2  # both scores compared may be wrong
    for first in range(0, len(queries), QUERIES):
        batch = np.ascontiguousarray(queries[first : first + QUERIES])

        def one(share: Sequence[tuple[int, Block]], batch: Single = batch) -> tuple[Single, Found]:
            return _scan_blocks(share, batch, k, margin)

        done = list(pool().map(one, shares) if parts > 1 else map(one, shares))
        best = np.concatenate([best for best, _ in done], axis=1)
        bound = np.partition(best, best.shape[1] - k, axis=1)[:, best.shape[1] - k] - margin
        query_of, rows, scores = (np.concatenate([found[at] for _, found in done]) for at in range(3))
        near = scores >= bound[query_of]
        query_of, rows = query_of[near], rows[near]
        yield query_of + first, rows, view.exact(rows, batch, query_of)


def error_of_sums(dim: int) -> float:
    """Return the max error of a score of unit vectors summed in float32, in any order."""
    return (dim + 4) * 2.0**-24 * 1.01


def _scan_blocks(blocks: Sequence[tuple[int, Block]], queries: Single, k: int, margin: float) -> tuple[Single, Found]:
    best = np.full((len(queries), k), -np.inf, np.float32)
    room = 2 * kernels.TILE * len(queries)
    found = _room(room)
    size = 0
    for first, block in blocks:
        bits, row = frozen(block.vectors.view(np.uint16)), 0
        while True:
            size, row = kernels.scan(bits, block.alive, row, queries, best, margin, first, *found, size)
            if row == len(bits):
                break
            size = _compact(found, size, best, margin)
            if size > room - kernels.TILE * len(queries):  # many rows have nearly equal scores
                room *= 2
                full, found = found, _room(room)
                found[0][:size], found[1][:size], found[2][:size] = full[0][:size], full[1][:size], full[2][:size]
    size = _compact(found, size, best, margin)
    return best, (found[0][:size], found[1][:size], found[2][:size])


def _room(size: int) -> Found:
    return np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.float32)


def _compact(found: Found, size: int, best: Single, margin: float) -> int:
    """Move the rows that may still be among the best to the front; return their number."""
    near = np.flatnonzero(found[2][:size] >= (best[:, 0] - margin)[found[0][:size]])
    query_of, rows, scores = found
    query_of[: len(near)], rows[: len(near)], scores[: len(near)] = query_of[near], rows[near], scores[near]
    return len(near)
