"""The lexical search in plain numpy: the definition, to be read, and what the compiled kernels are compared with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reflink.lexical.layout import Codes, Floats, Ints, Layout, Mask, Ranks
from reflink.lexical.trigrams import TRIGRAMS


def overlaps(codes: Codes, offsets: Ints, wanted: Codes) -> Ints:
    """How many of the trigrams ``wanted`` each text has: int64 [n]."""
    marked = np.zeros(TRIGRAMS, np.int64)
    marked[wanted] = 1
    before = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(marked[codes], out=before[1:])
    return np.diff(before[offsets])


def scores(overlaps: Ints, a: int, sizes: npt.NDArray[np.integer]) -> Floats:
    """s of a query of ``a`` trigrams with each text, 0 where nothing is in common (paper section 3.4.2; trigrams.score)."""
    b = sizes.astype(np.int64)
    # Nothing is divided by 0: where a + b is 0 the overlap is, too.
    whole = np.maximum(1, a + b + np.minimum(a, b) - overlaps)
    values: Floats = 2 * overlaps / whole
    return values


def search(
    layout: Layout, ranks: Ranks, alive: Mask, codes: Codes, query_offsets: Ints, k: int, floors: Floats
) -> tuple[Ints, Floats, Ints]:
    """The k best rows of each of n queries: rows and scores [n, k], best first, ties by ``ranks``; and how many there are."""
    queries = len(query_offsets) - 1
    rows, values = np.zeros((queries, k), np.int64), np.zeros((queries, k), np.float64)
    found = np.zeros(queries, np.int64)
    for query in range(queries):
        wanted = codes[query_offsets[query] : query_offsets[query + 1]]
        all_scores = scores(overlaps(layout.codes, layout.offsets, wanted), len(wanted), layout.sizes)
        good = np.flatnonzero(alive & (all_scores > 0) & (all_scores >= floors[query]))
        best = good[np.lexsort((ranks[good], -all_scores[good]))][:k]
        found[query] = len(best)
        rows[query, : len(best)], values[query, : len(best)] = best, all_scores[best]
    return rows, values, found
