"""How the texts of a segment lie in memory, and how that is built.

Texts are *rows*, in ascending order of the size of their trigram sets, equal sizes in the order of their ids. So a block of
neighbouring rows has one size or few, and one bound holds for all of it. Of each text there are three things:

- its trigrams (``codes[offsets[row]:offsets[row + 1]]``), by which an overlap is counted exactly;
- a bit in each of its *bitmaps*. A frequent trigram has a bitmap of its own, the others share theirs with some more:
  such a bit says that the text has one of them at least. Bitmaps lie block by block: those of 2,048 rows, 256 bytes each,
  are next to each other and fit a processor's L2 cache;
- a posting in the list of each of its rare trigrams: its place within 32,768 rows, 16 bits. The lists of a trigram follow
  each other.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from reflink.idtable import frozen
from reflink.lexical.trigrams import TRIGRAMS

#: Rows of a block of bitmaps, and its words of 64 bits.
BLOCK: Final = 2048
WORDS: Final = BLOCK // 64
#: Rows whose postings are one list: a byte for each of them fits an L1 cache.
LIST_BLOCK: Final = 32_768
#: A trigram in at least one text of so many has a bitmap of its own.
FREQUENT: Final = 48
#: Other trigrams share bitmaps that about so great a part of the texts is in.
SHARED: Final = 0.06
#: A trigram in less than one text of so many has lists.
RARE: Final = 256
#: Where there are fewer rows, there are lists of every trigram and no bitmaps.
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

    ``sizes`` uint16 [n], ``offsets`` int64 [n + 1] and ``codes`` uint16: each row's trigrams. ``frequencies`` uint32 [50,653]:
    rows that hold a trigram. ``bitmap_of`` int32 [50,653]: number of its bitmap, -1 for one in no text. ``shares`` float32: of
    the rows are in a bitmap. ``bits`` uint64, flat: blocks of ``len(shares) + 1`` bitmaps of 32 words, the last of them empty.
    ``postings`` uint16, ``starts`` uint32: each trigram has ``lists`` lists; where the l-th 32,768 rows hold trigram t is
    ``postings[starts[at]:starts[at + 1]]``, at = t * lists + l.
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


def build(codes: Codes, offsets: Ints) -> tuple[Layout, Ranks]:
    """The layout of texts given by their trigrams, and for each row the text it is of: uint32 [n]."""
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
    """The number of each trigram's bitmap, -1 for one that is nowhere."""
    bitmap_of = np.full(TRIGRAMS, -1, np.int32)
    frequent = np.flatnonzero(frequencies * FREQUENT >= rows)
    bitmap_of[frequent] = np.arange(len(frequent))
    others = np.flatnonzero((frequencies > 0) & (bitmap_of < 0))
    # Dealt out in the order of their frequencies, as cards are: each bitmap gets its part of the frequent and of the rare.
    others = others[np.argsort(-frequencies[others], kind="stable")]
    shared = max(1, round(float(frequencies[others].sum()) / rows / SHARED))
    bitmap_of[others] = len(frequent) + np.arange(len(others)) % shared
    return bitmap_of


def aligned(words: int) -> Words:
    """Zeros, uint64, that begin a cache line: a vector that lies across two takes twice as long."""
    room = np.zeros(words + 8, np.uint64)
    skipped = -room.ctypes.data // 8 % 8
    part: Words = room[skipped : skipped + words]
    return part


def memory(layout: Layout) -> dict[str, int]:
    """Bytes of each array."""
    return {name: array.nbytes for name, array in layout._asdict().items()}


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _ordered(codes: Codes, offsets: Ints, order: Ranks, new_offsets: Ints) -> Codes:
    ordered = np.empty(new_offsets[-1], np.uint16)
    for row in range(len(order)):
        begin, new = offsets[order[row]], new_offsets[row]
        for at in range(new_offsets[row + 1] - new):
            ordered[new + at] = codes[begin + at]
    return ordered


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _frequencies(codes: Codes) -> Ints:
    frequencies = np.zeros(TRIGRAMS, np.int64)
    for code in codes:
        frequencies[code] += 1
    return frequencies


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
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


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _set_bits(bits: Words, bitmaps: int) -> Ints:
    """How many rows are in each bitmap."""
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
