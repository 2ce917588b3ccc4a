"""What a score asks for: the least overlap, and the sizes that can reach it. Compiled, and exact to the last bit.

With a and b trigrams, o of them common, s = 2o / (a + b + min(a, b) - o) grows with o, so s >= t is
o >= t(a + b + min(a, b)) / (2 + t); and with o <= min(a, b) it is at most 2 min(a, b) / (a + b), so s >= t needs
t / (2 - t) <= b / a <= (2 - t) / t. Computed in floating point the first may be one off: ``needed`` asks the score itself.
"""

from __future__ import annotations

import numba


@numba.njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def score(overlap: int, a: int, b: int) -> float:
    """s, as ``trigrams.score``; 0 for no overlap."""
    if overlap == 0:
        return 0.0
    return 2.0 * overlap / (a + b + min(a, b) - overlap)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def needed(least: float, a: int, b: int) -> int:
    """The least overlap with a score of ``least`` or more, at least 1; min(a, b) + 1 or more when there is none."""
    whole = a + b + min(a, b)
    overlap = max(1, int(least * whole / (2.0 + least)))
    while overlap > 1 and score(overlap - 1, a, b) >= least:
        overlap -= 1
    while overlap <= min(a, b) and score(overlap, a, b) < least:
        overlap += 1
    return overlap


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def reachable(least: float, a: int, b_from: int, b_to: int) -> bool:
    """Whether any size from ``b_from`` to ``b_to`` can have a score of ``least`` or more with ``a`` trigrams."""
    b = min(max(a, b_from), b_to)  # the nearest to a
    return b > 0 and score(min(a, b), a, b) >= least
