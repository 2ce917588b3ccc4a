"""The memory layout of the texts of a segment, and its construction.

Texts are *rows*, in ascending order of the size of their trigram sets; equal sizes are in the order of their ids. So the rows
of a block have few distinct sizes, and one bound holds for the whole block. A text is stored in three forms:

- as its trigrams (``codes[offsets[row]:offsets[row + 1]]``), from which an overlap is counted exactly;
- as a bit in each of its *bitmaps*. A frequent trigram has a bitmap of its own. Other trigrams share bitmaps: a bit set there
  means that the text has at least one of them. Bitmaps are stored block by block: the bitmaps of 2,048 rows, 256 bytes each,
  are contiguous and fit a processor's L2 cache;
- as a posting in the list of each of its rare trigrams: its position within 32,768 rows, 16 bits. The lists of a trigram are
  contiguous.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.lexical.trigrams import TRIGRAMS
from reflink.storage.idtable import frozen

#: Rows in a block, and 64-bit words of one bitmap in a block.
BLOCK: Final = 2048
WORDS: Final = BLOCK // 64
#: Rows that one posting list covers: a counter of one byte per row fits an L1 cache.
LIST_BLOCK: Final = 32_768
#: A trigram in at least 1/FREQUENT of the texts has a bitmap of its own.
FREQUENT: Final = 48
#: Fraction of the texts, approximately, in a bitmap that other trigrams share.
SHARED: Final = 0.06
#: A trigram in less than 1/RARE of the texts has posting lists.
RARE: Final = 256
#: Min rows of a segment with bitmaps. A smaller one has posting lists of every trigram instead.
LEAST_WITH_BITMAPS: Final = BLOCK

Codes = npt.NDArray[np.uint16]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Sizes = npt.NDArray[np.uint16]
Ranks = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class Layout(NamedTuple):
    """The arrays of a segment of n rows; read-only, in memory or mapped.

    ``sizes`` uint16 [n], ``offsets`` int64 [n + 1] and ``codes`` uint16: the trigrams of each row. ``frequencies`` uint32
    [50,653]: number of rows with each trigram. ``bitmap_of`` int32 [50,653]: number of the trigram's bitmap, -1 if it is in no
    text or there are no bitmaps. ``shares`` float32: fraction of the rows in each bitmap. ``bits`` uint64, flat: per block
    ``len(shares) + 1`` bitmaps of 32 words, the last one empty. ``postings`` uint16, ``starts`` uint32: each trigram has
    ``lists`` lists; the positions of trigram t within the l-th 32,768 rows are ``postings[starts[at]:starts[at + 1]]`` with
    at = t * lists + l.
    """

    sizes: Sizes
    offsets: Ints
    codes: Codes
    frequencies: npt.NDArray[np.uint32]
    bitmap_of: npt.NDArray[np.int32]
    shares: npt.NDArray[np.float32]
    bits: Words
    starts: npt.NDArray[np.uint32]
    postings: Codes


class LiveRows(NamedTuple):
    """The rows that a search reads. ``ranks`` uint32 [n] orders equal scores; ``alive`` bool [n] masks the living rows."""

    layout: Layout
    ranks: Ranks
    alive: Mask


def build(codes: Codes, offsets: Ints) -> tuple[Layout, Ranks]:
    """Return the layout of texts given by their trigrams, and the number of each row's text: uint32 [n]."""
    sizes = np.diff(offsets)
    order = np.argsort(sizes, kind="stable").astype(np.uint32)
    sizes = sizes[order].astype(np.uint16)
    new_offsets = np.zeros(len(offsets), np.int64)
    np.cumsum(sizes, out=new_offsets[1:])
    ordered = _ordered(codes, offsets, order, new_offsets)
    frequencies = _frequencies(ordered)
    rows = len(order)
    with_bitmaps = rows >= LEAST_WITH_BITMAPS
    bitmap_of = _bitmaps(frequencies, rows) if with_bitmaps else np.full(TRIGRAMS, -1, np.int32)
    bitmaps = int(bitmap_of.max()) + 1
    blocks, lists = -(-rows // BLOCK), -(-rows // LIST_BLOCK)
    bits = aligned(blocks * (bitmaps + 1) * WORDS if bitmaps else 0)
    listed = frequencies * RARE < rows if with_bitmaps else np.full(TRIGRAMS, True)
    starts, postings = _fill(ordered, new_offsets, bitmap_of, bitmaps, listed, lists, bits)
    shares = _set_bits(bits, bitmaps) / max(1, rows)
    counts, parts = frequencies.astype(np.uint32), shares.astype(np.float32)
    arrays = (sizes, new_offsets, ordered, counts, bitmap_of, parts, bits, starts, postings)
    return Layout(*(frozen(array) for array in arrays)), frozen(order)


def _bitmaps(frequencies: Ints, rows: int) -> npt.NDArray[np.int32]:
    """Return the number of each trigram's bitmap, -1 for a trigram in no text."""
    bitmap_of = np.full(TRIGRAMS, -1, np.int32)
    frequent = np.flatnonzero(frequencies * FREQUENT >= rows)
    bitmap_of[frequent] = np.arange(len(frequent))
    others = np.flatnonzero((frequencies > 0) & (bitmap_of < 0))
    # Assigned round robin in descending frequency, so that each bitmap gets an equal part of the frequent and of the rare ones.
    others = others[np.argsort(-frequencies[others], kind="stable")]
    shared = max(1, round(float(frequencies[others].sum()) / rows / SHARED))
    bitmap_of[others] = len(frequent) + np.arange(len(others)) % shared
    return bitmap_of


def aligned(words: int) -> Words:
    """Return zeros, uint64, aligned to a cache line: loading a vector across two lines takes twice as long."""
    room = np.zeros(words + 8, np.uint64)
    skipped = -room.ctypes.data // 8 % 8
    part: Words = room[skipped : skipped + words]
    return part


def memory(layout: Layout) -> dict[str, int]:
    """Return the bytes of each array by name."""
    return {name: array.nbytes for name, array in layout._asdict().items()}


def extents(sizes: Sizes) -> Ints:
    """Return the number of each block of rows with its smallest and its largest size: int64 [blocks, 3]. ``sizes`` ascend."""
    firsts = np.arange(0, len(sizes), BLOCK)
    lasts = np.minimum(firsts + BLOCK, len(sizes)) - 1
    return np.stack([firsts // BLOCK, sizes[firsts], sizes[lasts]], axis=1)


@compiled(nogil=True)
def _ordered(codes: Codes, offsets: Ints, order: Ranks, new_offsets: Ints) -> Codes:
    ordered = np.empty(new_offsets[-1], np.uint16)
    for row in range(len(order)):
        begin, new = offsets[order[row]], new_offsets[row]
        for at in range(new_offsets[row + 1] - new):
            ordered[new + at] = codes[begin + at]
    return ordered


@compiled(nogil=True)
def _frequencies(codes: Codes) -> Ints:
    frequencies = np.zeros(TRIGRAMS, np.int64)
    for code in codes:
        frequencies[code] += 1
    return frequencies


@compiled(nogil=True)
def _fill(
    codes: Codes, offsets: Ints, bitmap_of: npt.NDArray[np.int32], bitmaps: int, listed: npt.NDArray[np.bool_],
    lists: int, bits: Words,
) -> tuple[npt.NDArray[np.uint32], Codes]:  # fmt: skip
    rows = len(offsets) - 1
    ends = np.zeros(TRIGRAMS * lists + 1, np.int64)
    for row in range(rows):
        block, word = row // BLOCK, row % BLOCK // 64
        bit = np.uint64(1) << np.uint64(row % 64)
        first = block * (bitmaps + 1) * WORDS + word
        for at in range(offsets[row], offsets[row + 1]):
            code = np.int64(codes[at])
            bitmap = np.int64(bitmap_of[code])
            if bitmap >= 0:
                bits[first + bitmap * WORDS] |= bit
            if listed[code]:
                ends[code * lists + row // LIST_BLOCK + 1] += 1
    for at in range(1, len(ends)):
        ends[at] += ends[at - 1]
    starts, postings = ends.astype(np.uint32), np.empty(ends[-1], np.uint16)
    for row in range(rows):
        for at in range(offsets[row], offsets[row + 1]):
            code = np.int64(codes[at])
            if listed[code]:
                place = code * lists + row // LIST_BLOCK
                postings[ends[place]] = row % LIST_BLOCK
                ends[place] += 1
    return starts, postings


@compiled(nogil=True)
def _set_bits(bits: Words, bitmaps: int) -> Ints:
    """Return the number of rows in each bitmap: int64 [bitmaps]. Counts the bits of a word in parallel."""
    counts = np.zeros(bitmaps, np.int64)
    stride = (bitmaps + 1) * WORDS
    for block in range(len(bits) // stride if bitmaps else 0):
        for bitmap in range(bitmaps):
            for word in range(WORDS):
                left = bits[block * stride + bitmap * WORDS + word]
                left -= (left >> np.uint64(1)) & np.uint64(0x5555555555555555)
                left = (left & np.uint64(0x3333333333333333)) + ((left >> np.uint64(2)) & np.uint64(0x3333333333333333))
                left = (left + (left >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
                counts[bitmap] += np.int64((left * np.uint64(0x0101010101010101)) >> np.uint64(56))
    return counts
