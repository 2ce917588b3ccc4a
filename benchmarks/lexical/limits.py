"""Measure the limits of the machine: adding bitmaps from the L2 cache, and sequential reads of memory.

python -m benchmarks.lexical.limits
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from benchmarks import harness
from benchmarks.machine import describe
from reflink.lexical.cpu.vectors import LANES, count_rows
from reflink.lexical.layout import BLOCK, WORDS, aligned

#: Number of bitmaps in a block of a large catalog.
BITMAPS = 2000
COUNTED = (16, 48, 96)
TURNS = 20_000
ROUNDS = 7
STREAM_MIB = 1024


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _count(bits: Any, queries: Any, number: int, turns: int, out: Any) -> int:
    """Do the work of ``turns`` queries in one block; the bound of 255 is never reached, so nothing is found."""
    found = 0
    for turn in range(turns):
        for word in range(0, WORDS, LANES):
            if count_rows(bits, word, WORDS, queries[turn % len(queries)], 0, number, 255, out, word, 0):
                found += 1
    return found


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _stream(words: Any) -> int:
    value = np.uint64(0)
    for word in words:
        value ^= word
    return int(value)


def seconds(work: Callable[[], object]) -> float:
    """Return the median seconds of processor time."""
    return statistics.median(harness.seconds(work, ROUNDS, time.process_time))


def adding(number: int) -> float:
    """Return the seconds in which one core adds up ``number`` bitmaps of a block (reflink.lexical.layout) in its L2 cache."""
    rng = np.random.default_rng(1)
    bits, out = aligned(BITMAPS * WORDS), aligned(WORDS)
    bits[:] = rng.integers(0, 2**63, len(bits), dtype=np.int64).astype(np.uint64) & np.uint64(0x1111111111111111)
    queries = np.array([rng.choice(BITMAPS, number, replace=False) for _ in range(64)], np.int32)
    return seconds(lambda: _count(bits, queries, number, TURNS, out)) / TURNS


def streaming() -> float:
    """Return the bytes per second that one core reads from memory as a stream."""
    words = np.ones(STREAM_MIB * 2**17, np.uint64)
    return words.nbytes / seconds(lambda: _stream(words))


def main() -> int:
    print(describe())
    for number in COUNTED:
        took = adding(number)
        each = took * 1e9 / number / (BLOCK / 512)
        print(f"{number} bitmaps of {BLOCK:,} works added up: {took * 1e9:.0f} ns, {each:.2f} ns for a bitmap and 512 works")
    print(f"memory read as a stream: {streaming() / 1e9:.0f} GB/s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
