"""From rows and their scores to hits: the best of each query, equal scores by the smallest id."""

from __future__ import annotations

import numpy as np

from reflink.hits import Hits
from reflink.semantic.rows import View
from reflink.semantic.scanning import Found


def rank(view: View, found: Found, number: int, k: int) -> Hits:
    """The ``k`` best of each of ``number`` queries among what was found; all that tie with a query's last must be there."""
    query_of, rows, scores = found[0], found[1], found[2] + np.float32(0)  # no zero is negative
    # Rows of the saved part are in order of their ids; those of the added part follow, in any.
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
    """The order in which equal scores of one query stand by id."""
    query_of, rows, scores = found
    order = np.arange(len(rows))
    # Runs of equal scores, of which few hold an added row.
    changes = np.flatnonzero((query_of[1:] != query_of[:-1]) | (scores[1:] != scores[:-1])) + 1
    starts, ends = np.concatenate([[0], changes]), np.concatenate([changes, [len(rows)]])
    # The last row of a run is the greatest.
    mixed = (ends - starts > 1) & (rows[ends - 1] >= len(view.ids))
    for start, end in zip(starts[mixed].tolist(), ends[mixed].tolist(), strict=True):
        names = view.names(rows[start:end])
        order[start:end] = start + np.array(sorted(range(end - start), key=names.__getitem__), np.int64)
    return order
