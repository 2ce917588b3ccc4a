"""The trigram similarity of given pairs of texts, where another search has chosen the pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.lexical.trigrams import Codes, Rows, trigram_sets


def pair_scores(texts: Sequence[str], pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return s of the texts of each pair: float64 [n]. ``pairs``: positions in ``texts``, int64 [n, 2].

    The scores are those of ``reflink.lexical.trigrams.similarity``. Raises ValueError if a text is not normalised.
    """
    codes, offsets = trigram_sets(texts)
    scores: npt.NDArray[np.float64] = _pair_scores(codes, offsets, pairs)
    return scores


@compiled(nogil=True)
def _pair_scores(codes: Codes, offsets: Rows, pairs: Rows) -> npt.NDArray[np.float64]:
    scores = np.zeros(len(pairs), np.float64)
    for number in range(len(pairs)):
        one, other = pairs[number, 0], pairs[number, 1]
        at, end = offsets[one], offsets[one + 1]
        b, last = offsets[other], offsets[other + 1]
        a_size, b_size = end - at, last - b
        common = 0
        while at < end and b < last:
            if codes[at] == codes[b]:
                common += 1
                at += 1
                b += 1
            elif codes[at] < codes[b]:
                at += 1
            else:
                b += 1
        if common:
            scores[number] = 2 * common / (a_size + b_size + min(a_size, b_size) - common)
    return scores
