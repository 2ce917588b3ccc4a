"""Ranking of scored rows: the best hits of each query, equal scores by ascending id."""

from __future__ import annotations

import numpy as np

from reflink.hits import Hits
from reflink.semantic.cpu.rows import View
from reflink.semantic.cpu.scanning import Found


def rank(view: View, found: Found, number: int, k: int) -> Hits:
    """Return the ``k`` best of the rows found for each of ``number`` queries; ``found`` has all rows that tie with the last."""
    query_of, rows, scores = found[0], found[1], found[2] + np.float32(0)  # -0.0 becomes 0.0
    # Rows of the saved part are in order of their ids; rows of the added part follow in any order.
    order = np.lexsort((rows, -scores, query_of))
    query_of, rows, scores = query_of[order], rows[order], scores[order]
    if len(rows) and int(rows.max()) >= len(view.ids):
        rows = rows[_by_id(view, found=(query_of, rows, scores))]
    begins = np.searchsorted(query_of, np.arange(number))
    place = np.arange(len(rows)) - begins[query_of]
    kept = place < k
    ids, values = np.full((number, k), None, np.object_), np.full((number, k), np.nan, np.float32)
    ids[query_of[kept], place[kept]] = view.names(rows[kept])
    values[query_of[kept], place[kept]] = scores[kept]
    return Hits(ids, values)


def _by_id(view: View, found: Found) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the permutation that puts equal scores of a query in order of their ids: int64 [n]."""
    query_of, rows, scores = found
    order = np.arange(len(rows))
    # Only runs of equal scores with an added row need sorting, and these are few.
    changes = np.flatnonzero((query_of[1:] != query_of[:-1]) | (scores[1:] != scores[:-1])) + 1
    starts, ends = np.concatenate([[0], changes]), np.concatenate([changes, [len(rows)]])
    # The last row of a run has the greatest number.
    mixed = (ends - starts > 1) & (rows[ends - 1] >= len(view.ids))
    for start, end in zip(starts[mixed].tolist(), ends[mixed].tolist(), strict=True):
        names = view.names(rows[start:end])
        order[start:end] = start + np.array(sorted(range(end - start), key=names.__getitem__), np.int64)
    return order
