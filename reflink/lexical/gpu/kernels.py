"""The kernels of the search on an NVIDIA GPU (numba-CUDA). ``batches`` launches them and describes the steps.

A warp counts one query's bitmaps in one block of 2,048 rows. Lane l counts word l, which is 64 rows, and holds bit p of their
counts in register p (vertical counts, see ``vectors``). The lanes of a warp read 256 contiguous bytes per bitmap. The kernels
also run in the simulator (``NUMBA_ENABLE_CUDASIM=1``), which has no shuffles or votes, so lanes exchange data in shared memory.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import cuda

from reflink.lexical.cpu.vectors import ROWS
from reflink.lexical.layout import BLOCK, WORDS

#: Max bitmaps counted for a query: the count has nine bits, and the number is a multiple of ``ROWS``.
COUNTED: Final = 496
#: Threads of a warp: one per word of a bitmap in a block.
LANES: Final = WORDS
#: Warps of a thread block that counts.
WARPS: Final = 4
#: Threads of the other thread blocks.
THREADS: Final = 128
#: Threads that share the trigrams of one row; rows that a thread block verifies.
PARTS: Final = 8
VERIFIED: Final = THREADS // PARTS
#: Blocks tried first for a query: the blocks are divided into this many shares, and the best block of each is tried.
SHARES: Final = 32
#: Words of a set of trigrams. It has a bit for any uint16, so a damaged file causes no access out of bounds.
SET: Final = 2048
#: Indices of the counters: pairs of a block and a query, rows to verify, hits.
PAIRS, NEAR, HITS = 0, 1, 2


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def score(overlap: Any, a: Any, b: Any) -> Any:
    """As ``bounds.score``, for an overlap of at least 1. Same result: float64 division rounds identically everywhere."""
    return 2.0 * overlap / (a + b + min(a, b) - overlap)


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def needed(bound: Any, a: Any, b: Any) -> Any:
    """As ``bounds.needed``."""
    overlap = max(1, int(bound * (a + b + min(a, b)) / (2.0 + bound)))
    while overlap > 1 and score(overlap - 1, a, b) >= bound:
        overlap -= 1
    while overlap <= min(a, b) and score(overlap, a, b) < bound:
        overlap += 1
    return overlap


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def reachable(bound: Any, a: Any, b_from: Any, b_to: Any) -> Any:
    """As ``bounds.reachable``."""
    b = min(max(a, b_from), b_to)
    return a > 0 and b > 0 and score(min(a, b), a, b) >= bound


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _ends(block: Any, texts: Any) -> Any:
    """Return the first and the last row of a block."""
    return block * BLOCK, min(texts, (block + 1) * BLOCK) - 1


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _add(x: Any, y: Any, z: Any) -> Any:
    """Carry-save adder: return the sum and the carry of three bits, in each of 64 positions."""
    half = x ^ y
    return half ^ z, (x & y) | (half & z)


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _word(bits: Any, base: Any, places: Any, query: Any, at: Any) -> Any:
    """Return 64 rows of a query's bitmap. Indices are unsigned, because numba checks a signed index for negative values."""
    return bits[base + np.uint64(places[np.uint64(query), np.uint64(at)])]


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _add_eight(bits: Any, base: Any, places: Any, query: Any, at: Any, ones: Any, twos: Any, fours: Any) -> Any:
    """Add eight bitmaps to the three lowest planes; return the planes and the carry of weight eight."""
    ones, a = _add(_word(bits, base, places, query, at), _word(bits, base, places, query, at + 1), ones)
    ones, b = _add(_word(bits, base, places, query, at + 2), _word(bits, base, places, query, at + 3), ones)
    ones, c = _add(_word(bits, base, places, query, at + 4), _word(bits, base, places, query, at + 5), ones)
    ones, d = _add(_word(bits, base, places, query, at + 6), _word(bits, base, places, query, at + 7), ones)
    twos, a = _add(a, b, twos)
    twos, c = _add(c, d, twos)
    fours, a = _add(a, c, fours)
    return ones, twos, fours, a


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _count(bits: Any, first: Any, places: Any, query: Any, number: Any) -> Any:
    """Count in how many of ``number`` bitmaps, a multiple of ``ROWS``, each of a word's 64 rows is; return nine planes."""
    base = np.uint64(first)
    p0 = p1 = p2 = p3 = p4 = p5 = p6 = p7 = p8 = np.uint64(0)
    for at in range(0, number, ROWS):
        p0, p1, p2, a = _add_eight(bits, base, places, query, at, p0, p1, p2)
        p0, p1, p2, b = _add_eight(bits, base, places, query, at + 8, p0, p1, p2)
        p3, a = _add(a, b, p3)
        p4, a = p4 ^ a, p4 & a
        p5, a = p5 ^ a, p5 & a
        p6, a = p6 ^ a, p6 & a
        p7, a = p7 ^ a, p7 & a
        p8 ^= a
    return p0, p1, p2, p3, p4, p5, p6, p7, p8


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _higher(left: Any, count: Any, plane: Any, weight: Any) -> Any:
    """Narrow the rows with the greatest count by the next lower bit: keep the rows with the bit set, if there are any."""
    some = left & plane
    if some != 0:
        return some, count + weight
    return left, count


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _greatest(planes: Any) -> Any:
    p0, p1, p2, p3, p4, p5, p6, p7, p8 = planes
    left, count = ~np.uint64(0), 0
    left, count = _higher(left, count, p8, 256)
    left, count = _higher(left, count, p7, 128)
    left, count = _higher(left, count, p6, 64)
    left, count = _higher(left, count, p5, 32)
    left, count = _higher(left, count, p4, 16)
    left, count = _higher(left, count, p3, 8)
    left, count = _higher(left, count, p2, 4)
    left, count = _higher(left, count, p1, 2)
    left, count = _higher(left, count, p0, 1)
    return count


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _decided(enough: Any, plane: Any, bit: Any) -> Any:
    """Compare counts with a threshold by the next higher bit; if both have the same, the result of the lower bits stays."""
    if bit != 0:
        return enough & plane
    return enough | plane


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _at_least(planes: Any, threshold: Any) -> Any:
    """Return the mask of the rows whose count is ``threshold`` or more; all rows for 0."""
    p0, p1, p2, p3, p4, p5, p6, p7, p8 = planes
    enough = ~np.uint64(0)
    enough = _decided(enough, p0, threshold & 1)
    enough = _decided(enough, p1, threshold & 2)
    enough = _decided(enough, p2, threshold & 4)
    enough = _decided(enough, p3, threshold & 8)
    enough = _decided(enough, p4, threshold & 16)
    enough = _decided(enough, p5, threshold & 32)
    enough = _decided(enough, p6, threshold & 64)
    enough = _decided(enough, p7, threshold & 128)
    return _decided(enough, p8, threshold & 256)


@cuda.jit  # type: ignore[untyped-decorator]
def sets_of(codes: Any, offsets: Any, present: Any) -> None:
    """Write each query's trigrams as a set of bits to ``present``, uint32 [queries, words]. One thread block per query."""
    query = cuda.blockIdx.x
    for word in range(cuda.threadIdx.x, present.shape[1], cuda.blockDim.x):
        present[query, word] = np.uint32(0)
    cuda.syncthreads()
    for at in range(offsets[query] + cuda.threadIdx.x, offsets[query + 1], cuda.blockDim.x):
        code = np.int64(codes[at])
        cuda.atomic.or_(present, (query, code >> 5), np.uint32(1 << (code & 31)))


@cuda.jit  # type: ignore[untyped-decorator]
def greatest_counts(
    bits: Any, stride: Any, sizes: Any, places: Any, numbers: Any, wanted: Any, bounds: Any, queries: Any, greatest: Any
) -> None:
    """Write the greatest count of each block and query to ``greatest``, uint16 [blocks, queries].

    It is 0 where no size in the block can reach the bound. Thread blocks are ``LANES`` by ``WARPS``, ordered by block of rows
    and then by query, so that all queries read a block's bitmaps from L2. ``wanted``: number of trigrams of each query.
    """
    maxima = cuda.shared.array(WARPS, np.int32)
    lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
    groups = (queries + WARPS - 1) // WARPS
    block = np.int64(cuda.blockIdx.x // groups)
    query = cuda.blockIdx.x % groups * WARPS + warp
    if lane == 0:
        maxima[warp] = 0
    cuda.syncthreads()
    if query < queries and numbers[query] > 0:
        first, last = _ends(block, len(sizes))
        if reachable(bounds[query], np.int64(wanted[query]), np.int64(sizes[first]), np.int64(sizes[last])):
            own = _greatest(_count(bits, block * stride + lane, places, query, numbers[query]))
            if own > maxima[warp]:
                cuda.atomic.max(maxima, warp, own)
    cuda.syncthreads()
    if lane == 0 and query < queries:
        greatest[block, query] = maxima[warp]


@cuda.jit  # type: ignore[untyped-decorator]
def pairs_to_try(
    greatest: Any, sizes: Any, wanted: Any, credits_: Any, queries: Any, blocks: Any, shares: Any, pairs: Any, required: Any
) -> None:
    """Choose for each query and share the block whose greatest count promises the best score: [shares * queries] pairs.

    Share s consists of the blocks s, s + ``shares``, and so on. A pair is block * queries + query, or -1. The choice affects
    only the search order and not the result, so float32 is enough. ``required``: the greatest count of the pair.
    """
    number = cuda.grid(1)
    if number >= shares * queries:
        return
    query, share = number % queries, number // queries
    a = np.int64(wanted[query])
    best, chosen, count = np.float32(0), np.int64(-1), np.int64(0)
    for block in range(share, blocks, shares):
        here = np.int64(greatest[block, query])
        if here > 0:
            first, last = _ends(block, len(sizes))
            overlap = min(min(here + credits_[query], a), np.int64(sizes[last]))
            b = max(np.int64(sizes[first]), overlap)
            promised = np.float32(overlap) / np.float32(a + b + min(a, b) - overlap)
            if promised > best:
                best, chosen, count = promised, np.int64(block) * queries + query, here
    pairs[number], required[number] = chosen, count


@cuda.jit  # type: ignore[untyped-decorator]
def pairs_that_reach(
    greatest: Any, sizes: Any, numbers: Any, wanted: Any, credits_: Any, bounds: Any, queries: Any, blocks: Any, pairs: Any,
    required: Any, counters: Any,
) -> None:  # fmt: skip
    """Append all pairs of a block and a query with a row that may reach their bound, and the count needed for it."""
    number = np.int64(cuda.grid(1))
    if number >= np.int64(blocks) * queries:
        return
    query, block = number % queries, number // queries
    if numbers[query] == 0:
        return
    first, last = _ends(block, len(sizes))
    a, b = np.int64(wanted[query]), np.int64(sizes[first])
    if not reachable(bounds[query], a, b, np.int64(sizes[last])):
        return
    count = max(0, needed(bounds[query], a, max(1, b)) - credits_[query])
    if np.int64(greatest[block, query]) >= count:
        slot = cuda.atomic.add(counters, PAIRS, 1)
        pairs[slot], required[slot] = number, count


@cuda.jit  # type: ignore[untyped-decorator]
def rows_of_pairs(
    bits: Any, stride: Any, texts: Any, places: Any, numbers: Any, queries: Any, pairs: Any, required: Any, size: Any,
    limit: Any, near: Any, counters: Any,
) -> None:  # fmt: skip
    """Append to ``near`` the rows of the first ``size`` pairs with the count ``required``, up to ``limit`` of each 64 rows.

    ``near`` int32 [2, room]: query and row. The counter includes rows for which there is no room. Thread blocks are ``LANES``
    by ``WARPS``.
    """
    lane, pair = cuda.threadIdx.x, cuda.blockIdx.x * WARPS + cuda.threadIdx.y
    if pair >= size or pairs[pair] < 0:
        return
    query, block = pairs[pair] % queries, np.int64(pairs[pair] // queries)
    enough = _at_least(_count(bits, block * stride + lane, places, query, numbers[query]), required[pair])
    taken, row = 0, block * BLOCK + lane * 64
    while enough != 0 and taken < limit and row < texts:
        if enough & np.uint64(1) != 0:
            taken += 1
            slot = cuda.atomic.add(counters, NEAR, 1)
            if slot < near.shape[1]:
                near[0, slot], near[1, slot] = query, row
        enough >>= np.uint64(1)
        row += 1


@cuda.jit  # type: ignore[untyped-decorator]
def hits_of_rows(
    codes: Any, offsets: Any, sizes: Any, alive: Any, present: Any, wanted: Any, bounds: Any, near: Any, size: Any, hits: Any,
    counters: Any,
) -> None:  # fmt: skip
    """Verify the first ``size`` rows of ``near``; append the rows with a score that reaches their bound to ``hits``.

    ``hits`` int32 [3, room]: query, row, overlap. Thread blocks ``PARTS`` by ``VERIFIED``; neighbours read adjacent trigrams.
    """
    overlaps = cuda.shared.array((VERIFIED, PARTS), np.int32)
    part, place = cuda.threadIdx.x, cuda.threadIdx.y
    at = cuda.blockIdx.x * VERIFIED + place
    overlap = np.int32(0)
    if at < size and alive[near[1, at]]:
        query, row = near[0, at], near[1, at]
        for trigram in range(offsets[row] + part, offsets[row + 1], PARTS):
            code = np.int64(codes[trigram])
            overlap += np.int32((np.int64(present[query, code >> 5]) >> (code & 31)) & 1)
    overlaps[place, part] = overlap
    cuda.syncthreads()
    if part == 0 and at < size:
        query, row = near[0, at], near[1, at]
        for other in range(1, PARTS):
            overlap += overlaps[place, other]
        if overlap > 0 and score(np.int64(overlap), np.int64(wanted[query]), np.int64(sizes[row])) >= bounds[query]:
            slot = cuda.atomic.add(counters, HITS, 1)
            hits[0, slot], hits[1, slot], hits[2, slot] = query, row, overlap
