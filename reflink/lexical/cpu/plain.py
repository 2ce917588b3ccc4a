"""The lexical search in plain numpy: its readable definition, and the reference for tests of the compiled kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reflink.lexical.layout import Codes, Floats, Ints, LiveRows
from reflink.lexical.queries import Queries
from reflink.lexical.trigrams import TRIGRAMS


def overlaps(codes: Codes, offsets: Ints, wanted: Codes) -> Ints:
    """Return how many of the trigrams ``wanted`` each text has: int64 [n]."""
    marked = np.zeros(TRIGRAMS, np.int64)
    marked[wanted] = 1
    before = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(marked[codes], out=before[1:])
    return np.diff(before[offsets])


def scores(overlaps: Ints, a: int, sizes: npt.NDArray[np.integer]) -> Floats:
    """Return s of a query of ``a`` trigrams with each text, 0 for no overlap: float64 [n] (paper section 3.4.2)."""
    b = sizes.astype(np.int64)
    # No division by 0: where a + b is 0, the overlap is 0 too.
    whole = np.maximum(1, a + b + np.minimum(a, b) - overlaps)
    values: Floats = 2 * overlaps / whole
    return values


def search(live: LiveRows, queries: Queries, k: int) -> tuple[Ints, Floats, Ints]:
    """Return the k best rows of each of n queries: rows and scores [n, k], best first, ties by ``ranks``; number found [n]."""
    layout, ranks, alive = live
    count = len(queries.floors)
    rows, values = np.zeros((count, k), np.int64), np.zeros((count, k), np.float64)
    found = np.zeros(count, np.int64)
    for query in range(count):
        wanted = queries.codes[queries.offsets[query] : queries.offsets[query + 1]]
        all_scores = scores(overlaps(layout.codes, layout.offsets, wanted), len(wanted), layout.sizes)
        good = np.flatnonzero(alive & (all_scores > 0) & (all_scores >= queries.floors[query]))
        best = good[np.lexsort((ranks[good], -all_scores[good]))][:k]
        found[query] = len(best)
        rows[query, : len(best)], values[query, : len(best)] = best, all_scores[best]
    return rows, values, found
