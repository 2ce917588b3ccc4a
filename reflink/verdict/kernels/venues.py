"""Similarity of two venues: the share of the longer name's words that the other has in order, abbreviated or not.

A word abbreviates another if its letters occur there in order and the first letters are the same ("natl", "national"). A name
agrees fully with its acronym.
"""

from __future__ import annotations

import math

import numba

from reflink.verdict.kernels.vocabulary import Codes, Ints


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _abbreviates(letters: Codes, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Return whether both words have the same first letter and one contains the letters of the other in order."""
    if letters[a] != letters[b]:
        return False
    if a_end - a > b_end - b:
        a, a_end, b, b_end = b, b_end, a, a_end
    while a < a_end and a_end - a <= b_end - b:
        a += letters[a] == letters[b]
        b += 1
    return a == a_end


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _is_acronym(letters: Codes, spans: Ints, word: int, first: int, last: int) -> bool:
    """Return whether a word of at least three letters consists of the first letters of several consecutive words."""
    start, end = spans[word]
    if end - start <= 2 or last - first < 2 or end - start > last - first:
        return False
    for at in range(end - start):  # noqa: SIM110
        if letters[start + at] != letters[spans[first + at, 0]]:
            return False
    return True


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def venue_similarity(letters: Codes, spans: Ints, x: int, x_end: int, y: int, y_end: int, row: Ints) -> float:
    """Return the share of the longer name's words that the other has in order; 1 for its acronym; NaN if a name has no words.

    ``row``: scratch space of at least ``y_end - y + 1`` elements.
    """
    if x == x_end or y == y_end:
        return math.nan
    if x_end - x == 1 and _is_acronym(letters, spans, x, y, y_end):
        return 1.0
    if y_end - y == 1 and _is_acronym(letters, spans, y, x, x_end):
        return 1.0
    row[: y_end - y + 1] = 0
    for word in range(x, x_end):
        diagonal = 0
        for j in range(1, y_end - y + 1):
            other = y + j - 1
            if _abbreviates(letters, spans[word, 0], spans[word, 1], spans[other, 0], spans[other, 1]):
                best = diagonal + 1
            else:
                best = max(row[j], row[j - 1])
            diagonal, row[j] = row[j], max(best, row[j - 1])
    share: float = row[y_end - y] / max(x_end - x, y_end - y)
    return share
