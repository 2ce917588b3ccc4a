"""The exact overlap of some rows with a query, and the best of them. Compiled."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from reflink.lexical.bounds import reachable, score
from reflink.lexical.heaps import insert
from reflink.lexical.layout import Codes, Floats, Ints, Layout, Mask, Ranks
from reflink.lexical.vectors import prefetch

#: Words of a set of trigrams, with room for any 16 bits: a damaged file must not lead outside.
SET: Final = 1024
#: Trigrams in a line of a cache.
LINE: Final = 32

Set = npt.NDArray[np.uint64]


class Best(NamedTuple):
    """What is known of n queries: the least score that still counts, how many rows they have and how many were verified."""

    least: Floats
    found: Ints
    verified: Ints


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def mark(wanted: Codes, present: Set) -> None:
    """Puts the trigrams into the set, or takes them out again."""
    for code in wanted:
        present[code >> 6] ^= np.uint64(1) << np.uint64(code & 63)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def overlap_of(layout: Layout, row: int, present: Set) -> Any:
    """How many of the row's trigrams are in the set: bit t of ``present``."""
    overlap = np.uint64(0)
    for at in range(layout.offsets[row], layout.offsets[row + 1]):
        code = np.uint64(layout.codes[at])
        overlap += (present[code >> np.uint64(6)] >> (code & np.uint64(63))) & np.uint64(1)
    return np.int64(overlap)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def verify(
    layout: Layout, ranks: Ranks, alive: Mask, near: Ints, size: int, a: int,
    present: Set, rows: Ints, scores: Floats, best: Best, query: int,
) -> None:  # fmt: skip
    """Puts those rows of ``near[:size]`` that are good enough among the query's best. Memory is asked for before it is read."""
    k = len(rows)
    for at in range(size):
        row = near[at]
        prefetch(layout.sizes, row)
        prefetch(layout.offsets, row)
        prefetch(alive, row)
    kept = 0
    for at in range(size):
        row = near[at]
        b = np.int64(layout.sizes[row])
        if alive[row] and reachable(best.least[query], a, b, b):
            near[kept] = row
            kept += 1
            for code in range(layout.offsets[row], layout.offsets[row + 1], LINE):
                prefetch(layout.codes, code)
    for at in range(kept):
        row = near[at]
        value = score(overlap_of(layout, row, present), a, np.int64(layout.sizes[row]))
        if value > 0.0 and value >= best.least[query]:
            best.found[query] = insert(rows, scores, best.found[query], row, value, ranks)
            if best.found[query] == k:
                best.least[query] = scores[k - 1]
    best.verified[query] += kept
