"""Verification: count the exact overlap of rows with a query and keep the best rows. Compiled."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.lexical.cpu.bounds import reachable, score
from reflink.lexical.cpu.heaps import insert
from reflink.lexical.cpu.vectors import prefetch
from reflink.lexical.layout import Codes, Floats, Ints, Layout, LiveRows

#: Words of a set of trigrams. It has a bit for any uint16, so a damaged file causes no access out of bounds.
SET: Final = 1024
#: Trigrams in a cache line.
LINE: Final = 32

Set = npt.NDArray[np.uint64]


class Best(NamedTuple):
    """The state of n queries.

    ``bounds`` [n]: the min scores that still count. ``found`` and ``verified`` [n]: numbers of rows found and
    verified. ``rows`` and ``scores`` [n, k]: the best rows so far, best first; entries from ``found`` on are undefined.
    """

    bounds: Floats
    found: Ints
    verified: Ints
    rows: Ints
    scores: Floats


class Query(NamedTuple):
    """A query: its number in ``Best``, the size of its trigram set, and the set itself (see ``mark``)."""

    number: int
    size: int
    present: Set


@compiled(nogil=True)
def mark(wanted: Codes, present: Set) -> None:
    """Toggle the trigrams in the set: the first call adds them, the second removes them."""
    for code in wanted:
        present[code >> 6] ^= np.uint64(1) << np.uint64(code & 63)


@compiled(nogil=True)
def overlap_of(layout: Layout, row: int, present: Set) -> Any:
    """Return how many trigrams of the row are in the set; trigram t is bit t of ``present``."""
    overlap = np.uint64(0)
    for at in range(layout.offsets[row], layout.offsets[row + 1]):
        code = np.uint64(layout.codes[at])
        overlap += (present[code >> np.uint64(6)] >> (code & np.uint64(63))) & np.uint64(1)
    return np.int64(overlap)


@compiled(nogil=True)
def verify(rows: LiveRows, query: Query, near: Ints, size: int, best: Best) -> None:
    """Verify the rows ``near[:size]`` and insert the good ones into ``best``. Prefetches memory before it is read.

    Overwrites ``near``.
    """
    layout, alive, number = rows.layout, rows.alive, query.number
    found, scores = best.rows[number], best.scores[number]
    k = len(found)
    for at in range(size):
        row = near[at]
        prefetch(layout.sizes, row)
        prefetch(layout.offsets, row)
        prefetch(alive, row)
    kept = 0
    for at in range(size):
        row = near[at]
        b = np.int64(layout.sizes[row])
        if alive[row] and reachable(best.bounds[number], query.size, b, b):
            near[kept] = row
            kept += 1
            for code in range(layout.offsets[row], layout.offsets[row + 1], LINE):
                prefetch(layout.codes, code)
    for at in range(kept):
        row = near[at]
        value = score(overlap_of(layout, row, query.present), query.size, np.int64(layout.sizes[row]))
        if value > 0.0 and value >= best.bounds[number]:
            best.found[number] = insert(found, scores, best.found[number], row, value, rows.ranks)
            if best.found[number] == k:
                best.bounds[number] = scores[k - 1]
    best.verified[number] += kept
