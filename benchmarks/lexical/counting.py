"""Compiled baselines: plain counting over posting lists, and the paper's comparison of sorted arrays.

Both return the two best scores of all works. Their lists and arrays are plain: 32 bits per posting, 16 bits per trigram.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.lexical.cpu import plain
from reflink.lexical.trigrams import TRIGRAMS

Codes = npt.NDArray[np.uint16]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.uint32]


class Postings(NamedTuple):
    """Works by trigram: those of trigram t are ``works[starts[t]:starts[t + 1]]``; ``sizes``: trigrams of each work."""

    starts: Ints
    works: Rows
    sizes: Codes


def postings(codes: Codes, offsets: Ints) -> Postings:
    """Return the posting lists of texts given by their trigrams."""
    return Postings(*_postings(codes, offsets, TRIGRAMS))


class Counter:
    """Plain counting: a 16-bit counter per work, the lists of the query's trigrams, one scan for the best."""

    def __init__(self, lists: Postings) -> None:
        self._lists = lists
        self._counts = np.zeros(len(lists.sizes), np.uint16)

    def best(self, wanted: Codes) -> tuple[float, float]:
        """Return the two highest scores, 0 if there is none."""
        scores: tuple[float, float] = _count(*self._lists, wanted, self._counts)
        return scores

    def top(self, wanted: Codes, number: int) -> list[float]:
        """Return the ``number`` highest scores, without zeros, best first; not made to be fast."""
        self.best(wanted)
        scores = plain.scores(self._counts.astype(np.int64), len(wanted), self._lists.sizes)
        best = np.partition(scores, -min(number, len(scores)))[-number:]
        return sorted(best[best > 0].tolist(), reverse=True)


@compiled(nogil=True)
def _postings(codes: Codes, offsets: Ints, trigrams: int) -> tuple[Ints, Rows, Codes]:
    starts = np.zeros(trigrams + 1, np.int64)
    for code in codes:
        starts[np.int64(code) + 1] += 1
    for trigram in range(trigrams):
        starts[trigram + 1] += starts[trigram]
    ends, works = starts.copy(), np.empty(len(codes), np.uint32)
    sizes = np.empty(len(offsets) - 1, np.uint16)
    for work in range(len(sizes)):
        sizes[work] = offsets[work + 1] - offsets[work]
        for at in range(offsets[work], offsets[work + 1]):
            works[ends[codes[at]]] = work
            ends[codes[at]] += 1
    return starts, works, sizes


@compiled(nogil=True, inline="always")
def _better(overlap: Any, a: Any, b: Any, first: float, second: float) -> tuple[float, float]:
    """Update the two best scores with another text."""
    whole = a + b + min(a, b)
    # Divide only where a product, slightly too low, shows that the score could be among the best.
    if overlap * (2.0 + second) < second * whole * 0.999999 or overlap == 0:
        return first, second
    value = 2.0 * overlap / (whole - overlap)
    if value > first:
        return value, first
    return first, max(second, value)


@compiled(nogil=True)
def _count(
    starts: Ints, works: Rows, sizes: Codes, wanted: Codes, counts: npt.NDArray[np.uint16]
) -> tuple[float, float]:  # fmt: skip
    counts[:] = 0
    for code in wanted:
        for at in range(starts[code], starts[np.int64(code) + 1]):
            counts[works[at]] += 1
    first, second, a = 0.0, 0.0, len(wanted)
    for work in range(len(counts)):
        first, second = _better(np.int64(counts[work]), a, np.int64(sizes[work]), first, second)
    return first, second


@compiled(nogil=True)
def merged(codes: Codes, offsets: Ints, wanted: Codes) -> tuple[float, float]:
    """Return the two highest scores by merging the query's sorted array with the array of each work in turn."""
    first, second, a = 0.0, 0.0, len(wanted)
    for work in range(len(offsets) - 1):
        at, end, mine, overlap = offsets[work], offsets[work + 1], 0, 0
        while at < end and mine < a:
            x, y = codes[at], wanted[mine]
            overlap += x == y
            at += x <= y
            mine += y <= x
        first, second = _better(overlap, a, end - offsets[work], first, second)
    return first, second
