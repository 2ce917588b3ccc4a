"""The best rows of a query so far: two short arrays in order, best first. Compiled."""

from __future__ import annotations

from typing import Any

import numba

from reflink.lexical.layout import Floats, Ints, Ranks


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def insert(rows: Ints, scores: Floats, size: int, row: int, score: float, ranks: Ranks) -> Any:
    """Puts a row in its place among the first ``size`` unless it is there or is not good enough; returns the new size.

    A row is before another when its score is higher, or equal and its ``ranks`` smaller.
    """
    for at in range(size):
        if rows[at] == row:
            return size
    at = size
    while at > 0 and (score > scores[at - 1] or (score == scores[at - 1] and ranks[row] < ranks[rows[at - 1]])):
        at -= 1
    if at == len(rows):
        return size
    size = min(size + 1, len(rows))
    for behind in range(size - 1, at, -1):
        rows[behind], scores[behind] = rows[behind - 1], scores[behind - 1]
    rows[at], scores[at] = row, score
    return size
