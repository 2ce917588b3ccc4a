"""The constants of the kernels in ``kernels.cu``, and its source and compiler options."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from reflink.lexical.cpu.searching import CLEARANCE
from reflink.lexical.layout import BLOCK, WORDS

#: Threads of a warp: one per word of a bitmap in a block.
LANES: Final = WORDS
#: Max bitmaps counted for a query: a count has nine bits, and their number is a multiple of 16.
COUNTED: Final = 496
#: Words of 32 bits in a set of trigrams. It has a bit for any uint16, so a damaged file causes no access out of bounds.
SET: Final = 2048
#: Warps of a thread block that counts, and the queries that it counts in a block of rows: 1/GROUPS of a batch, at most GROUP.
COUNTING: Final = 32
GROUPS: Final = 4
GROUP: Final = 256
#: Threads of the other thread blocks, and their warps.
THREADS: Final = 128
WARPS: Final = THREADS // LANES
#: Thread blocks per multiprocessor of a kernel that learns on the device how much work there is.
WIDTH: Final = 8
#: Threads that share the trigrams of one row.
PARTS: Final = 8
#: Blocks tried first for a query: the blocks are divided into this many shares, and the best block of each is tried.
SHARES: Final = 32
#: The counters: pairs tried, rows found in them, pairs that reach the bound, rows found in these.
TRIED, NEAR_TRIED, REACHING, NEAR = range(4)
COUNTERS: Final = 4

_DEFINED: Final = {
    "BLOCK": BLOCK, "WORDS": WORDS, "LANES": LANES, "COUNTED": COUNTED, "SET": SET, "COUNTING": COUNTING, "PARTS": PARTS,
    "COUNTERS": COUNTERS, "CLEARANCE": CLEARANCE,
}  # fmt: skip

NAMES: Final = (
    "begin", "plans", "greatest_counts", "pairs_to_try", "pairs_that_reach", "rows_of_pairs", "hits_of_rows", "best_of_hits",
)  # fmt: skip

#: Options of NVRTC. Products and sums are rounded one by one, as on the CPU.
OPTIONS: Final = ("-std=c++17", "--fmad=false")


def source() -> str:
    """Return the text of ``kernels.cu``."""
    return (files("reflink.lexical.gpu") / "kernels.cu").read_text("utf-8")


def definitions() -> tuple[str, ...]:
    """Return the constants as options of a C++ compiler."""
    return tuple(f"-D{name}={value}" for name, value in _DEFINED.items())
