"""Bounds of the stages: the time that one core of this machine needs for the reads and operations that a stage must make."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

import numba
import numpy as np
import torch

from benchmarks.lexical import limits
from benchmarks.semantic.encode import FLOPS, products
from reflink.compiled import compiled
from reflink.hits import Hits
from reflink.lexical.cpu.bounds import needed, reachable
from reflink.lexical.cpu.planning import counted
from reflink.lexical.cpu.searching import Plans, _bitmaps_to_count
from reflink.lexical.cpu.vectors import ROWS
from reflink.lexical.layout import BLOCK, Codes, Floats, Ints, Layout
from reflink.lexical.trigrams import trigram_sets

#: Reads that depend on each other in a lookup: bucket, hashes, row, position of the record, record.
READS: Final = 5
#: Words of the table for random reads, 8 of them in a cache line: 512 MiB, more than any cache.
WORDS: Final = 1 << 26
_LINE: Final = 8
_STEPS: Final = 1 << 20
#: Bitmaps that are added up at once to measure the rate.
_ADDED: Final = 96
_MICRO: Final = 1e6
_GIGA: Final = 1e9


class Bound(NamedTuple):
    """``us``: microseconds per reference. ``of``: the reads or operations that take this time."""

    us: float
    of: str


class Machine(NamedTuple):
    """Rates of one core.

    ``stream``: bytes read per second in order; ``read``: seconds of a read from a random place; ``multiply_adds``: per second,
    in a product of fp32 matrices by torch; ``bitmap``: seconds to add a bitmap of a block of works.
    """

    stream: float
    read: float
    multiply_adds: float
    bitmap: float

    @classmethod
    def measure(cls) -> Self:
        """Measure the rates, which takes some seconds and 1 GiB."""
        return cls(limits.streaming(), random_read(WORDS), products(torch.float32) * _GIGA / 2, limits.adding(_ADDED) / _ADDED)

    def lookup(self) -> Bound:
        """Return the bound of a lookup whose works are not in a cache."""
        return Bound(READS * self.read * _MICRO, f"{READS} random reads")

    def encoding(self, tokens: float) -> Bound:
        """Return the bound of encoding a text with the default model; ``tokens``: of a text."""
        return Bound(tokens * FLOPS / 2 / self.multiply_adds * _MICRO, "products of the model")

    def vectors(self, works: int, dim: int, batch: int) -> Bound:
        """Return the bound of a query, of ``batch`` queries per call, over fp16 vectors."""
        reading = Bound(2 * works * dim / self.stream / batch * _MICRO, "reading the vectors")
        return max(reading, Bound(works * dim / self.multiply_adds * _MICRO, "multiply-adds"))

    def trigrams(self, layout: Layout, texts: list[str], hits: Hits, batch: int) -> Bound:
        """Return the bound of a query, of ``batch`` queries per call.

        ``hits``: the hits of ``texts``. The search cannot add fewer bitmaps than if it knew the score of the last hit.
        """
        codes, offsets = trigram_sets(texts)
        scores = np.nan_to_num(hits.scores).min(axis=1)  # 0 for a query with too few hits
        reading = Bound(layout.bits.nbytes / self.stream / batch * _MICRO, "reading the bitmaps")
        added = float(bitmaps_added(layout, codes, offsets, scores).mean())
        return max(reading, Bound(added * self.bitmap * _MICRO, f"adding {added / blocks_of(layout):.0f} bitmaps a block"))


def blocks_of(layout: Layout) -> int:
    """Return the number of blocks of works."""
    return -(-len(layout.sizes) // BLOCK)


def random_read(words: int) -> float:
    """Return the seconds of a read from a place that is known only after the read before; ``words``: size of the table."""
    order = np.random.default_rng(1).permutation(words // _LINE) * _LINE
    table = np.zeros(words, np.int64)
    table[order] = np.roll(order, -1)
    return limits.seconds(lambda: _follow(table, _STEPS)) / _STEPS


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _follow(table: Ints, steps: int) -> int:
    at = 0
    for _ in range(steps):
        at = table[at]
    return at


@compiled(nogil=True)
def bitmaps_added(layout: Layout, codes: Codes, offsets: Ints, scores: Floats) -> Ints:
    """Return how many bitmaps of blocks each query adds if it knows the score of its last hit from the start: int64 [n].

    Trigrams ``codes[offsets[i]:offsets[i + 1]]`` belong to query i. All their bitmaps may be added, and no posting lists help.
    """
    texts, count = len(layout.sizes), len(scores)
    mean = len(layout.codes) / max(1, texts)
    added, none = np.zeros(count, np.int64), np.empty(0, np.int64)
    for query in range(count):
        wanted = codes[offsets[query] : offsets[query + 1]]
        plans = Plans(
            np.empty((1, len(wanted) + ROWS), np.int32), np.zeros(1, np.int64),
            np.zeros((1, len(wanted) // ROWS + 2), np.float64), np.zeros(1, np.int64),
        )  # fmt: skip
        plans.numbers[0] = counted(layout, wanted, none, plans.bitmaps[0], plans.chances[0])
        for first in range(0, texts, BLOCK):
            b_from, b_to = np.int64(layout.sizes[first]), np.int64(layout.sizes[min(texts, first + BLOCK) - 1])
            if len(wanted) and reachable(scores[query], len(wanted), b_from, b_to):
                required = needed(scores[query], len(wanted), max(1, b_from))
                bitmaps, required = _bitmaps_to_count(plans, 0, required, b_from / mean)
                if required <= bitmaps:
                    added[query] += -(-bitmaps // ROWS) * ROWS
    return added
