"""The exact search of a segment with bitmaps, for a block of queries at once. Compiled; docs/lexical.md explains and proves it.

A row is *verified* when its overlap is counted in its own trigrams. First the lists of the query's rarest trigrams are counted,
and rows that have several of them are verified: so the best texts are mostly found at once, and with them a bound t, the k-th
best score. Then the bitmaps of the query's trigrams are counted, in as many of them, the rarest first, as tell texts that may
reach t from others; a trigram that is not counted is credited to every row. As a row is in the bitmaps of all its trigrams,
and maybe in more, this count is never below its overlap, and a row of which it can't reach t is not looked at.
"""

from __future__ import annotations

from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from reflink.lexical.bounds import needed, reachable
from reflink.lexical.layout import BLOCK, LIST_BLOCK, WORDS, Codes, Floats, Ints, Layout, Mask, Ranks
from reflink.lexical.planning import LISTED, counted, known, listed
from reflink.lexical.vectors import ROWS, count_many_rows, count_rows
from reflink.lexical.verifying import SET, Best, Set, mark, verify

#: A row with so many of those trigrams is verified ...
CROSSING: Final = 3
#: ... until so many rows were: then it takes one more, and so on.
PATIENCE: Final = 128
#: Lists stand for the bitmaps of their trigrams where a row that was not verified has at most one in so many of them.
WORTH: Final = 3
#: Bitmaps are counted until the count asked for is so many standard deviations above what a row has by chance.
CLEARANCE: Final = 6.0
#: Counts of eight bits.
_FEW: Final = 256

#: Bitmaps are asked for so many blocks before they are read. Few queries wait for memory more than they count.
AHEAD: Final = 1
AHEAD_ALONE: Final = 4
MANY: Final = 8
#: Rows of a query that wait to be verified together.
WAITING: Final = 16


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def search(
    layout: Layout,
    ranks: Ranks,
    alive: Mask,
    codes: Codes,
    query_offsets: Ints,
    k: int,
    floors: Floats,
    seeds: Ints,
    seed_offsets: Ints,
    blocks: Ints,
) -> tuple[Ints, Floats, Ints, Ints]:
    """The k best rows of each of n queries, given by their trigrams: rows and scores [n, k], best first, and how many.

    ``ranks`` resolve equal scores; ``floors`` [n] are least scores; ``seeds``: rows that are good, of each query; ``blocks``:
    the blocks of bitmaps in the order in which they are to be read. Last: how many rows were verified, of each query.
    """
    queries = len(query_offsets) - 1
    rows, scores = np.empty((queries, k), np.int64), np.empty((queries, k), np.float64)
    best = Best(floors.copy(), np.zeros(queries, np.int64), np.zeros(queries, np.int64))
    longest = 0
    for query in range(queries):
        longest = max(longest, query_offsets[query + 1] - query_offsets[query])
    # Of the bitmaps that each query could count, the rarest first: their numbers, and what a row has of them by chance.
    bitmaps = np.empty((queries, longest + ROWS), np.int32)
    chances = np.zeros((queries, longest // ROWS + 2), np.float64)
    numbers = np.zeros(queries, np.int64)
    # Of the trigrams that have no bitmap among them, a row that was not verified has at most so many.
    credits = np.zeros(queries, np.int64)
    present, counts = np.zeros(SET, np.uint64), np.zeros(SET * 64, np.uint8)
    # A count of eight bits comes by the same number again after 256 more: then a row is near twice.
    near = np.empty(LIST_BLOCK + np.int64(LISTED * len(layout.sizes)) // _FEW + 1, np.int64)
    for query in range(queries):
        wanted = codes[query_offsets[query] : query_offsets[query + 1]]
        a = len(wanted)
        if a == 0:
            continue
        mark(wanted, present)
        given = seeds[seed_offsets[query] : seed_offsets[query + 1]].copy()
        verify(layout, ranks, alive, given, len(given), a, present, rows[query], scores[query], best, query)
        lists = listed(layout, wanted)
        others = known(layout, wanted) - len(lists)
        credits[query] = _scan_lists(
            layout, ranks, alive, lists, a, present, counts, near, rows[query], scores[query], best, query, others,
        )  # fmt: skip
        if credits[query] * WORTH > len(lists):  # then their bitmaps tell more
            lists, credits[query] = lists[:0], 0
        numbers[query] = counted(layout, wanted, lists, bitmaps[query], chances[query])
        mark(wanted, present)

    _scan_bitmaps(
        layout, ranks, alive, codes, query_offsets, bitmaps, chances, numbers, credits, present, rows, scores,
        best, blocks,
    )  # fmt: skip
    return rows, scores, best.found, best.verified


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _scan_lists(
    layout: Layout, ranks: Ranks, alive: Mask, lists: Ints, a: int,
    present: Set, counts: npt.NDArray[np.uint8], near: Ints, rows: Ints, scores: Floats, best: Best,
    query: int, others: int,
) -> Any:  # fmt: skip
    """Verifies rows with enough of the ``lists``; returns how many of these trigrams any other row has at most.

    ``others``: how many trigrams the query has beside them.
    """
    texts, taken = len(layout.sizes), len(lists)
    number = -(-texts // LIST_BLOCK)
    crossing = CROSSING
    for block in range(number):
        first, last = block * LIST_BLOCK, min(texts, (block + 1) * LIST_BLOCK) - 1
        b_from, b_to = np.int64(layout.sizes[first]), np.int64(layout.sizes[last])
        if not reachable(best.least[query], a, b_from, b_to):
            continue
        # Whoever has fewer of these than this can't reach the bound even with all others.
        at_least = min(255, max(crossing, needed(best.least[query], a, max(1, b_from)) - others))
        if at_least > taken:
            continue
        size = 0
        counts[:LIST_BLOCK] = 0
        for code in lists:
            begin, end = layout.starts[code * number + block], layout.starts[code * number + block + 1]
            for at in range(begin, end):
                row = layout.postings[at]
                count = counts[row] + np.uint8(1)
                counts[row] = count
                if count == at_least and first + row <= last:
                    near[size] = first + row
                    size += 1
        verify(layout, ranks, alive, near, size, a, present, rows, scores, best, query)
        if best.verified[query] > PATIENCE * (crossing - CROSSING + 1):
            crossing += 1
    return min(taken, crossing - 1)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _scan_bitmaps(
    layout: Layout, ranks: Ranks, alive: Mask, codes: Codes,
    query_offsets: Ints, bitmaps: npt.NDArray[np.int32], chances: Floats, numbers: Ints, credits: Ints,
    present: Set, rows: Ints, scores: Floats, best: Best, blocks: Ints,
) -> None:  # fmt: skip
    texts, queries, least = len(layout.sizes), len(numbers), best.least
    mean = len(layout.codes) / max(1, texts)
    stride = (len(layout.shares) + 1) * WORDS
    room = np.zeros(WORDS + 8, np.uint64)
    enough = room[(64 - (room.ctypes.data & 63)) // 8 % 8 :][:WORDS]
    # What was planned last for each query, and for which bound and size.
    planned_size, planned_least = np.full(queries, -1, np.int64), np.zeros(queries, np.float64)
    planned_number, planned_count = np.zeros(queries, np.int64), np.zeros(queries, np.int64)
    # Rows that wait, with room for all of a block.
    near, waiting = np.empty((queries, WAITING + BLOCK), np.int64), np.zeros(queries, np.int64)
    further = AHEAD if queries >= MANY else AHEAD_ALONE
    for turn, block in enumerate(blocks):
        ahead = (blocks[min(turn + further, len(blocks) - 1)] - block) * stride
        first, end = block * BLOCK, min(texts, (block + 1) * BLOCK)
        b_from, b_to = np.int64(layout.sizes[first]), np.int64(layout.sizes[end - 1])
        for query in range(queries):
            a = query_offsets[query + 1] - query_offsets[query]
            if a == 0 or not reachable(least[query], a, b_from, b_to):
                continue
            if planned_size[query] != b_from or planned_least[query] != least[query]:
                planned_size[query], planned_least[query] = b_from, least[query]
                asked, number = needed(least[query], a, max(1, b_from)) - credits[query], numbers[query]
                for part in range(1, -(-number // ROWS)):
                    chance = chances[query, part] * b_from / mean
                    if asked - (number - part * ROWS) > chance + CLEARANCE * np.sqrt(chance) + 1:
                        asked -= number - part * ROWS
                        number = part * ROWS
                        break
                planned_number[query], planned_count[query] = number, asked
            number, asked = planned_number[query], planned_count[query]
            if asked > number:
                continue
            padded = -(-number // ROWS) * ROWS
            if asked <= 0:
                enough[:] = ~np.uint64(0)
            else:
                some = False
                for word in range(0, WORDS, 8):
                    base = block * stride + word
                    if number < _FEW:
                        if count_rows(layout.bits, base, WORDS, bitmaps[query], 0, padded, asked, enough, word, ahead):
                            some = True
                    elif count_many_rows(layout.bits, base, WORDS, bitmaps[query], 0, padded, asked, enough, word, ahead):
                        some = True
                if not some:
                    continue
            size = waiting[query]
            for word in range(WORDS):
                left = enough[word]
                while left:
                    near[query, size] = first + word * 64 + _lowest(left)
                    size += near[query, size] < end
                    left &= left - np.uint64(1)
            waiting[query] = size
            if size >= WAITING:
                wanted = codes[query_offsets[query] : query_offsets[query + 1]]
                mark(wanted, present)
                verify(layout, ranks, alive, near[query], size, a, present, rows[query], scores[query], best, query)
                mark(wanted, present)
                waiting[query] = 0
    for query in range(queries):
        wanted = codes[query_offsets[query] : query_offsets[query + 1]]
        mark(wanted, present)
        verify(layout, ranks, alive, near[query], waiting[query], len(wanted), present, rows[query], scores[query], best, query)
        mark(wanted, present)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _lowest(word: np.uint64) -> Any:
    """The number of the lowest bit that is set."""
    at = 0
    if word & np.uint64(0xFFFFFFFF) == 0:
        at += 32
        word >>= np.uint64(32)
    if word & np.uint64(0xFFFF) == 0:
        at += 16
        word >>= np.uint64(16)
    if word & np.uint64(0xFF) == 0:
        at += 8
        word >>= np.uint64(8)
    while word & np.uint64(1) == 0:
        at += 1
        word >>= np.uint64(1)
    return at
