"""How two names of people agree when typists and scanners had their hands on them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

#: What a name that is misspelt agrees.
MISSPELT: Final = 0.8
#: Letters of a name from which on one slip is forgiven, and two.
_ONE_SLIP: Final = 5
_TWO_SLIPS: Final = 8


def agreement(a: frozenset[str], b: frozenset[str]) -> float:
    """1 for names that share a word, MISSPELT for those with a slip or two between them, else 0."""
    if not a.isdisjoint(b):
        return 1.0
    joined = _misspelt("".join(sorted(a)), "".join(sorted(b)))
    return MISSPELT if joined or any(_misspelt(x, y) for x in a for y in b) else 0.0


@lru_cache(maxsize=100_000)
def _misspelt(x: str, y: str) -> bool:
    short = min(len(x), len(y))
    allowed = (short >= _ONE_SLIP) + (short >= _TWO_SLIPS)
    return bool(allowed) and abs(len(x) - len(y)) <= allowed and slips(x, y) <= allowed


def slips(x: str, y: str) -> int:
    """Letters dropped, added, changed, or swapped with their neighbour, at least, between two words."""
    before: list[int] = []
    row = list(range(len(y) + 1))
    for i, a in enumerate(x, 1):
        current = [i]
        for j, b in enumerate(y, 1):
            best = min(row[j - 1] + (a != b), row[j] + 1, current[j - 1] + 1)
            if i > 1 and j > 1 and a == y[j - 2] and b == x[i - 2]:
                best = min(best, before[j - 2] + 1)
            current.append(best)
        before, row = row, current
    return row[-1]
