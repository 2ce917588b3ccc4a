"""The least overlap and the sizes with which a score can be reached. Compiled, and exact to the last bit.

For sets of a and b trigrams with o in common, s = 2o / (a + b + min(a, b) - o) grows with o. Two bounds follow:

1. s >= t is equivalent to o >= t(a + b + min(a, b)) / (2 + t). In floating point this may be off by one, so ``needed`` checks
   its result with the score itself.
2. As o <= min(a, b), s is at most 2 min(a, b) / (a + b). So s >= t requires t / (2 - t) <= b / a <= (2 - t) / t.
"""

from __future__ import annotations

from reflink.compiled import compiled


@compiled(nogil=True, inline="always")
def score(overlap: int, a: int, b: int) -> float:
    """Return s, as ``trigrams.score``; 0 for no overlap."""
    if overlap == 0:
        return 0.0
    return 2.0 * overlap / (a + b + min(a, b) - overlap)


@compiled(nogil=True)
def needed(bound: float, a: int, b: int) -> int:
    """Return the least overlap with a score of ``bound`` or more, at least 1; min(a, b) + 1 or more if there is none."""
    whole = a + b + min(a, b)
    overlap = max(1, int(bound * whole / (2.0 + bound)))
    while overlap > 1 and score(overlap - 1, a, b) >= bound:
        overlap -= 1
    while overlap <= min(a, b) and score(overlap, a, b) < bound:
        overlap += 1
    return overlap


@compiled(nogil=True)
def reachable(bound: float, a: int, b_from: int, b_to: int) -> bool:
    """Return whether a set of ``b_from`` to ``b_to`` trigrams can have a score of ``bound`` or more with ``a`` trigrams."""
    b = min(max(a, b_from), b_to)  # the size nearest to a
    return b > 0 and score(min(a, b), a, b) >= bound
