"""The search of a segment without bitmaps: all posting lists of a query are counted. Few texts need nothing better.

The same over lists of any length is what inverted indexes do, and what the benchmark compares with.
"""

from __future__ import annotations

import numba
import numpy as np

from reflink.lexical.bounds import score
from reflink.lexical.heaps import insert
from reflink.lexical.layout import LIST_BLOCK, Codes, Floats, Ints, Layout, Mask, Ranks


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def search(
    layout: Layout, ranks: Ranks, alive: Mask, codes: Codes, query_offsets: Ints, k: int, floors: Floats
) -> tuple[Ints, Floats, Ints]:
    """The k best rows of each of n queries, as ``searching.search``; the layout has at most 32,768 rows, all in one list."""
    queries, rows = len(query_offsets) - 1, len(layout.sizes)
    best, scores = np.empty((queries, k), np.int64), np.empty((queries, k), np.float64)
    found = np.zeros(queries, np.int64)
    counts = np.zeros(LIST_BLOCK * 2, np.int32)  # room for any 16 bits: a damaged file must not lead outside
    for query in range(queries):
        wanted = codes[query_offsets[query] : query_offsets[query + 1]]
        if len(wanted) == 0:
            continue
        counts[:rows] = 0
        for code in wanted:
            for at in range(layout.starts[code], layout.starts[np.int64(code) + 1]):
                counts[layout.postings[at]] += 1
        least = floors[query]
        for row in range(rows):
            if counts[row] == 0 or not alive[row]:
                continue
            value = score(np.int64(counts[row]), len(wanted), np.int64(layout.sizes[row]))
            if value >= least:
                found[query] = insert(best[query], scores[query], found[query], row, value, ranks)
                if found[query] == k:
                    least = max(least, scores[query, k - 1])
    return best, scores, found
