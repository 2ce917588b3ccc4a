"""The exact search of a segment with bitmaps, for a group of queries at once. Compiled; docs/lexical.md explains and proves it.

To *verify* a row is to count its overlap with the query exactly, in the row's own trigrams. The bound t of a query is its
floor or, once k rows are found, the k-th best score so far. The search of a query has two steps:

- Lists: count the posting lists of the query's rarest trigrams, and verify the rows that have several of them. This usually
  finds the best texts, and with them a high t.
- Bitmaps: count the bitmaps of the query's trigrams, rarest first, until a row that may reach t has a higher count than others
  have by chance. Verify the rows with that count.

Invariant: a living row that was not verified has a score below t, so it is not among the k best.

1. t never falls, and k rows reach it once it is above the floor. So a row that cannot reach t at some time is not a result.
2. A row of size b reaches t only with an overlap of ``needed(t, a, b)`` or more, and this does not fall with b. Sizes ascend
   within a segment, so the size of a block's first row gives the least overlap that any of its rows needs.
3. A row is in the bitmap of each of its trigrams (and, as trigrams share bitmaps, maybe in more). A query's trigram that is not
   counted is credited to every row. So the count plus the credit is never below the overlap, and a row for which this sum is
   below the overlap needed cannot reach t.
4. An unverified row has at most ``credits`` of the listed trigrams, or could not reach t when the lists were counted.

Cost: per query, 256 bytes per bitmap counted and block of 2,048 rows. All queries of the group use a block before the next one,
while it is in the cache.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.lexical.cpu.bounds import needed, reachable
from reflink.lexical.cpu.planning import LISTED, counted, known, listed
from reflink.lexical.cpu.vectors import LANES, ROWS, count_many_rows, count_rows
from reflink.lexical.cpu.verifying import SET, Best, Query, Set, mark, verify
from reflink.lexical.layout import BLOCK, LIST_BLOCK, WORDS, Floats, Ints, LiveRows
from reflink.lexical.queries import Queries

#: Min number of listed trigrams with which a row is verified, at first.
CROSSING: Final = 3
#: Verified rows of a query after which that minimum rises by one, each time.
PATIENCE: Final = 128
#: Lists replace the bitmaps of their trigrams if an unverified row has at most 1/WORTH of these trigrams.
WORTH: Final = 3
#: Bitmaps are counted until the count needed is this many standard deviations above the count that a row has by chance.
CLEARANCE: Final = 6.0
#: Limit of counts of eight bits.
_FEW: Final = 256

#: Distance of the prefetch of bitmaps, in blocks. With fewer than ``MANY`` queries the search waits for memory rather than for
#: the counting, so it prefetches ``AHEAD_ALONE`` blocks ahead.
AHEAD: Final = 1
AHEAD_ALONE: Final = 4
MANY: Final = 8
#: Rows of a query that are collected and then verified together.
WAITING: Final = 16


class Plans(NamedTuple):
    """The bitmaps that each of n queries may count, rarest first.

    ``bitmaps`` int32 [n, m]: their numbers, padded with the empty bitmap. ``numbers`` [n]: how many. ``chances`` float64:
    ``chances[i, p]`` is how many of the first 16p bitmaps contain an average row by chance. ``credits`` [n]: maximum number
    of the trigrams without a bitmap here, found by lists, in an unverified row.
    """

    bitmaps: npt.NDArray[np.int32]
    numbers: Ints
    chances: Floats
    credits: Ints


@compiled(nogil=True)
def search(rows: LiveRows, queries: Queries, k: int, blocks: Ints) -> tuple[Ints, Floats, Ints, Ints]:
    """Return the k best rows of each of n queries: rows and scores [n, k], best first; numbers of rows found and verified [n].

    Equal scores are ordered by ``rows.ranks``. ``blocks``: ``layout.extents``, in reading order.
    """
    layout, codes, offsets, count = rows.layout, queries.codes, queries.offsets, len(queries.floors)
    best = Best(
        queries.floors.copy(), np.zeros(count, np.int64), np.zeros(count, np.int64),
        np.empty((count, k), np.int64), np.empty((count, k), np.float64),
    )  # fmt: skip
    longest = 0
    for number in range(count):
        longest = max(longest, offsets[number + 1] - offsets[number])
    plans = Plans(
        np.empty((count, longest + ROWS), np.int32), np.zeros(count, np.int64),
        np.zeros((count, longest // ROWS + 2), np.float64), np.zeros(count, np.int64),
    )  # fmt: skip
    present, counts = np.zeros(SET, np.uint64), np.zeros(SET * 64, np.uint8)
    # A count of eight bits wraps: it passes the same number again 256 postings later, and then its row is in ``near`` twice.
    near = np.empty(LIST_BLOCK + np.int64(LISTED * len(layout.sizes)) // _FEW + 1, np.int64)
    for number in range(count):
        wanted = codes[offsets[number] : offsets[number + 1]]
        if len(wanted) == 0:
            continue
        mark(wanted, present)
        query = Query(number, len(wanted), present)
        seeds = queries.seeds[queries.seed_offsets[number] : queries.seed_offsets[number + 1]].copy()
        verify(rows, query, seeds, len(seeds), best)
        lists = listed(layout, wanted)
        credit = _scan_lists(rows, query, lists, known(layout, wanted) - len(lists), best, counts, near)
        if credit * WORTH > len(lists):  # the bitmaps discriminate better
            lists, credit = lists[:0], 0
        plans.credits[number] = credit
        plans.numbers[number] = counted(layout, wanted, lists, plans.bitmaps[number], plans.chances[number])
        mark(wanted, present)

    _scan_bitmaps(rows, queries, plans, present, best, blocks)
    return best.rows, best.scores, best.found, best.verified


@compiled(nogil=True)
def _scan_lists(
    rows: LiveRows, query: Query, lists: Ints, others: int, best: Best, counts: npt.NDArray[np.uint8], near: Ints
) -> Any:
    """Verify the rows with enough of the trigrams ``lists``; return the max number of these trigrams in any other row.

    A row that cannot reach the bound may have more of them (invariant, 4). ``others``: number of the query's trigrams that
    occur in the segment and are not in ``lists``. ``counts`` and ``near`` are working memory.
    """
    layout, a = rows.layout, query.size
    texts, taken = len(layout.sizes), len(lists)
    number = -(-texts // LIST_BLOCK)
    crossing = CROSSING
    for block in range(number):
        first, last = block * LIST_BLOCK, min(texts, (block + 1) * LIST_BLOCK) - 1
        b_from, b_to = np.int64(layout.sizes[first]), np.int64(layout.sizes[last])
        bound = best.bounds[query.number]
        if not reachable(bound, a, b_from, b_to):
            continue
        # A row with fewer listed trigrams cannot reach the bound, even if it has all the other trigrams.
        at_least = min(255, max(crossing, needed(bound, a, max(1, b_from)) - others))
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
        verify(rows, query, near, size, best)
        if best.verified[query.number] > PATIENCE * (crossing - CROSSING + 1):
            crossing += 1
    return min(taken, crossing - 1)


@compiled(nogil=True)
def _scan_bitmaps(rows: LiveRows, queries: Queries, plans: Plans, present: Set, best: Best, blocks: Ints) -> None:
    """Verify in every block the rows whose counts reach the count needed. ``present``: an empty set, working memory."""
    layout, codes, offsets, bounds = rows.layout, queries.codes, queries.offsets, best.bounds
    texts, count = len(layout.sizes), len(plans.numbers)
    mean = len(layout.codes) / max(1, texts)
    stride = (len(layout.shares) + 1) * WORDS
    room = np.zeros(WORDS + 8, np.uint64)
    enough = room[(64 - (room.ctypes.data & 63)) // 8 % 8 :][:WORDS]  # aligned to a cache line
    # The last decision of each query: the number of bitmaps and the count needed, and the bound and size that it holds for.
    planned_size, planned_bound = np.full(count, -1, np.int64), np.zeros(count, np.float64)
    planned_number, planned_count = np.zeros(count, np.int64), np.zeros(count, np.int64)
    # Rows to verify, with room for all rows of a block.
    near, waiting = np.empty((count, WAITING + BLOCK), np.int64), np.zeros(count, np.int64)
    further = AHEAD if count >= MANY else AHEAD_ALONE
    for turn in range(len(blocks)):
        block, b_from, b_to = blocks[turn]
        ahead = (blocks[min(turn + further, len(blocks) - 1), 0] - block) * stride
        first, end = block * BLOCK, min(texts, (block + 1) * BLOCK)
        for number in range(count):
            a = offsets[number + 1] - offsets[number]
            if a == 0 or not reachable(bounds[number], a, b_from, b_to):
                continue
            if planned_size[number] != b_from or planned_bound[number] != bounds[number]:
                planned_size[number], planned_bound[number] = b_from, bounds[number]
                required = needed(bounds[number], a, max(1, b_from)) - plans.credits[number]
                planned_number[number], planned_count[number] = _bitmaps_to_count(plans, number, required, b_from / mean)
            bitmaps, required = planned_number[number], planned_count[number]
            if required > bitmaps:
                continue
            padded = -(-bitmaps // ROWS) * ROWS
            if required <= 0:
                enough[:] = ~np.uint64(0)
            else:
                found, chosen = False, plans.bitmaps[number]
                for word in range(0, WORDS, LANES):
                    base = block * stride + word
                    if bitmaps < _FEW:
                        if count_rows(layout.bits, base, WORDS, chosen, 0, padded, required, enough, word, ahead):
                            found = True
                    elif count_many_rows(layout.bits, base, WORDS, chosen, 0, padded, required, enough, word, ahead):
                        found = True
                if not found:
                    continue
            size = waiting[number]
            for word in range(WORDS):
                left = enough[word]
                while left:
                    near[number, size] = first + word * 64 + _lowest(left)
                    size += near[number, size] < end
                    left &= left - np.uint64(1)
            waiting[number] = size
            if size >= WAITING:
                wanted = codes[offsets[number] : offsets[number + 1]]
                mark(wanted, present)
                verify(rows, Query(number, a, present), near[number], size, best)
                mark(wanted, present)
                waiting[number] = 0
    for number in range(count):
        wanted = codes[offsets[number] : offsets[number + 1]]
        mark(wanted, present)
        verify(rows, Query(number, len(wanted), present), near[number], waiting[number], best)
        mark(wanted, present)


@compiled(nogil=True)
def _bitmaps_to_count(plans: Plans, query: int, required: int, relative_size: float) -> Any:
    """Return how many bitmaps to count and the count needed in them.

    ``required``: the count needed in all bitmaps of the query. ``relative_size``: size of the block's first row relative to the
    average row. Bitmaps that are not counted are credited, so each of them reduces the count needed by one.
    """
    number = plans.numbers[query]
    for part in range(1, -(-number // ROWS)):
        chance = plans.chances[query, part] * relative_size
        left = required - (number - part * ROWS)
        if left > chance + CLEARANCE * np.sqrt(chance) + 1:
            return part * ROWS, left
    return number, required


@compiled(nogil=True)
def _lowest(word: np.uint64) -> Any:
    """Return the position of the lowest set bit; ``word`` is not 0."""
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
