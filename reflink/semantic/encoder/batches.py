"""Grouping of texts for an encoder: sorted by length, with a limit on tokens instead of texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


def batches(lengths: npt.ArrayLike, budget: int, *, padded: bool = True) -> Iterator[Rows]:
    """Yield positions in ``lengths`` (tokens, [n]) in groups of at most ``budget`` tokens, longest text first.

    ``padded``: the size of a group is longest × number, as for a model that pads; otherwise it is the sum. Longest first: the
    first group needs the most memory, so running out of memory shows immediately. A text longer than the budget is a group of
    its own.
    """
    sizes = np.asarray(lengths, np.int64)
    order = np.argsort(-sizes, kind="stable")
    # A text without tokens counts as one token, to bound the number of texts.
    ends = np.concatenate([[0], np.cumsum(np.maximum(sizes[order], 1))])
    start = 0
    while start < len(order):
        if padded:
            number = budget // max(1, int(sizes[order[start]]))
        else:
            number = int(np.searchsorted(ends, ends[start] + budget, "right")) - 1 - start
        yield order[start : start + max(1, number)]
        start += max(1, number)
