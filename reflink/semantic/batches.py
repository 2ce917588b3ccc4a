"""How texts are grouped for an encoder: sorted by length, so that little is padding, and bounded by tokens, not texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


def batches(lengths: npt.ArrayLike, budget: int) -> Iterator[Rows]:
    """Positions of ``lengths`` (tokens, [n]) in groups whose padded size, longest × number, is at most ``budget`` tokens.

    Longest first: memory is at its peak in the first group, so what does not fit fails at once. A text longer than the budget
    is a group of its own.
    """
    sizes = np.asarray(lengths, np.int64)
    order = np.argsort(-sizes, kind="stable")
    start = 0
    while start < len(order):
        number = max(1, budget // max(1, int(sizes[order[start]])))
        yield order[start : start + number]
        start += number
