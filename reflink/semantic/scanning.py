"""The exact search on the processor: one reading of all rows in float32, and the rows that may be among the best exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Final

import numpy as np

from reflink.idtable import frozen
from reflink.semantic import kernels
from reflink.semantic.rows import Block, Rows, Single, View

#: Queries whose rows are looked for in one reading of the matrix.
QUERIES: Final = 256

#: Rows worth a thread of their own.
LEAST_ROWS: Final = 8192

#: Query, row and score of each row found; a query's k best and all that tie with the last of them are among them.
Found = tuple[Rows, Rows, Single]


def scan(view: View, queries: Single, k: int, threads: int, pool: Callable[[], Executor]) -> Iterator[Found]:
    """What the best ``k`` rows of each query are chosen from, scores as defined; ``k`` at most ``view.count``.

    ``threads`` parts of the rows are read at the same time, in ``pool()`` where there are more than one.
    """
    blocks = list(view.blocks())
    parts = max(1, min(threads, view.rows // LEAST_ROWS, len(blocks)))
    shares = [blocks[len(blocks) * part // parts : len(blocks) * (part + 1) // parts] for part in range(parts)]
    margin = error_of_sums(view.dim) * 2  # two rows are compared
    for first in range(0, len(queries), QUERIES):
        asked = np.ascontiguousarray(queries[first : first + QUERIES])

        def one(share: Sequence[tuple[int, Block]], asked: Single = asked) -> tuple[Single, Found]:
            return _scan_blocks(share, asked, k, margin)

        done = list(pool().map(one, shares) if parts > 1 else map(one, shares))
        best = np.concatenate([best for best, _ in done], axis=1)
        least = np.partition(best, best.shape[1] - k, axis=1)[:, best.shape[1] - k] - margin
        query_of, rows, scores = (np.concatenate([found[at] for _, found in done]) for at in range(3))
        near = scores >= least[query_of]
        query_of, rows = query_of[near], rows[near]
        yield query_of + first, rows, view.exact(rows, asked, query_of)


def error_of_sums(dim: int) -> float:
    """The greatest error of a score of unit vectors summed in float32, in any order."""
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
            if size > room - kernels.TILE * len(queries):  # many rows as good as one another
                room *= 2
                full, found = found, _room(room)
                found[0][:size], found[1][:size], found[2][:size] = full[0][:size], full[1][:size], full[2][:size]
    size = _compact(found, size, best, margin)
    return best, (found[0][:size], found[1][:size], found[2][:size])


def _room(size: int) -> Found:
    return np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.float32)


def _compact(found: Found, size: int, best: Single, margin: float) -> int:
    """Moves to the front those that are still possible; returns how many."""
    near = np.flatnonzero(found[2][:size] >= (best[:, 0] - margin)[found[0][:size]])
    query_of, rows, scores = found
    query_of[: len(near)], rows[: len(near)], scores[: len(near)] = query_of[near], rows[near], scores[near]
    return len(near)
