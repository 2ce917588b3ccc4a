"""The search of a segment without bitmaps: count all posting lists of a query. For few texts this is fast enough.

Inverted indexes do the same over lists of any length; the benchmark compares with it.
"""

from __future__ import annotations

import numpy as np

from reflink.compiled import compiled
from reflink.lexical.cpu.bounds import score
from reflink.lexical.cpu.heaps import insert
from reflink.lexical.layout import LIST_BLOCK, Floats, Ints, LiveRows
from reflink.lexical.queries import Queries


@compiled(nogil=True)
def search(rows: LiveRows, queries: Queries, k: int) -> tuple[Ints, Floats, Ints]:
    """Return the k best rows of each of n queries, as ``searching.search``: rows, scores, number found. Ignores seeds.

    There are at most 32,768 rows, in one list.
    """
    layout, count = rows.layout, len(rows.layout.sizes)
    best, scores = np.empty((len(queries.floors), k), np.int64), np.empty((len(queries.floors), k), np.float64)
    found = np.zeros(len(queries.floors), np.int64)
    counts = np.zeros(LIST_BLOCK * 2, np.int32)  # room for any uint16: a damaged file must not cause access out of bounds
    for query in range(len(queries.floors)):
        wanted = queries.codes[queries.offsets[query] : queries.offsets[query + 1]]
        if len(wanted) == 0:
            continue
        counts[:count] = 0
        for code in wanted:
            for at in range(layout.starts[code], layout.starts[np.int64(code) + 1]):
                counts[layout.postings[at]] += 1
        bound = queries.floors[query]
        for row in range(count):
            if counts[row] == 0 or not rows.alive[row]:
                continue
            value = score(np.int64(counts[row]), len(wanted), np.int64(layout.sizes[row]))
            if value >= bound:
                found[query] = insert(best[query], scores[query], found[query], row, value, rows.ranks)
                if found[query] == k:
                    bound = max(bound, scores[query, k - 1])
    return best, scores, found
