"""The choice of the query's trigrams to count, and their order. Compiled."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.lexical.cpu.vectors import ROWS
from reflink.lexical.layout import RARE, Codes, Floats, Ints, Layout

#: Max postings per row of the segment in all lists counted for a query.
LISTED: Final = 0.05


@compiled(nogil=True)
def listed(layout: Layout, wanted: Codes) -> Ints:
    """Return the rarest trigrams with posting lists, up to ``LISTED`` postings per row in total."""
    texts = len(layout.sizes)
    lists, postings, number = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64), 0
    for code in wanted:
        postings[number] = layout.frequencies[code]
        if postings[number] > 0 and postings[number] * RARE < texts:
            lists[number] = code
            number += 1
    order = np.argsort(postings[:number])
    taken, sum_ = 0, 0
    while taken < number and sum_ + postings[order[taken]] <= LISTED * texts:
        sum_ += postings[order[taken]]
        taken += 1
    return lists[order[:taken]]


@compiled(nogil=True)
def known(layout: Layout, wanted: Codes) -> Any:
    """Return how many of the trigrams occur in the segment."""
    number = 0
    for code in wanted:
        number += layout.bitmap_of[code] >= 0
    return number


@compiled(nogil=True)
def counted(layout: Layout, wanted: Codes, lists: Ints, bitmaps: npt.NDArray[np.int32], chances: Floats) -> Any:
    """Write the numbers of the trigrams' bitmaps to ``bitmaps``, rarest first, padded with the empty bitmap; return how many.

    Trigrams in ``lists`` are left out. ``chances[p]`` receives the sum of the shares of the first 16p bitmaps: the number of
    them that contain a row by chance.
    """
    shares, some, number = np.empty(len(wanted), np.float32), np.empty(len(wanted), np.int32), 0
    ordered = np.sort(lists)
    for code in wanted:
        bitmap, place = layout.bitmap_of[code], np.searchsorted(ordered, code)
        if bitmap >= 0 and (place == len(ordered) or ordered[place] != code):
            some[number], shares[number] = bitmap, layout.shares[bitmap]
            number += 1
    chance = 0.0
    for at, place in enumerate(np.argsort(shares[:number])):
        bitmaps[at] = some[place]
        chance += shares[place]
        if (at + 1) % ROWS == 0:
            chances[(at + 1) // ROWS] = chance
    chances[-(-number // ROWS)] = chance
    bitmaps[number : number + ROWS] = len(layout.shares)
    return number
