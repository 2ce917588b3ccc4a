"""How texts are grouped for an encoder: sorted by length, and bounded by tokens, not texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


def batches(lengths: npt.ArrayLike, budget: int, *, padded: bool = True) -> Iterator[Rows]:
    """Positions of ``lengths`` (tokens, [n]) in groups of at most ``budget`` tokens, longest first.

    ``padded``: a group's size is longest × number, as for a model that pads; otherwise it is the sum. Longest first: memory
    is at its peak in the first group, so what does not fit fails at once. A text longer than the budget is a group of its own.
    """
    sizes = np.asarray(lengths, np.int64)
    order = np.argsort(-sizes, kind="stable")
    # Nothing is free: a text without tokens counts as one.
    ends = np.concatenate([[0], np.cumsum(np.maximum(sizes[order], 1))])
    start = 0
    while start < len(order):
        if padded:
            number = budget // max(1, int(sizes[order[start]]))
        else:
            number = int(np.searchsorted(ends, ends[start] + budget, "right")) - 1 - start
        yield order[start : start + max(1, number)]
        start += max(1, number)
