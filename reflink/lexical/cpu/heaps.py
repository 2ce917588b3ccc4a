"""The best rows of a query so far, in two short sorted arrays, best first. Compiled."""

from __future__ import annotations

from typing import Any

from reflink.compiled import compiled
from reflink.lexical.layout import Floats, Ints, Ranks


@compiled(nogil=True)
def insert(rows: Ints, scores: Floats, size: int, row: int, score: float, ranks: Ranks) -> Any:
    """Insert a row into the first ``size`` entries unless it is a duplicate or not good enough; return the new size.

    Rows are ordered by descending score; equal scores by ascending ``ranks``.
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
