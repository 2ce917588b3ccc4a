"""Queries of the lexical search, as flat arrays for compiled code."""

from __future__ import annotations

from typing import NamedTuple

from reflink.lexical.layout import Codes, Floats, Ints


class Queries(NamedTuple):
    """n queries. The trigrams of query i are ``codes[offsets[i]:offsets[i + 1]]``.

    ``floors`` [n]: min scores. ``seeds[seed_offsets[i]:seed_offsets[i + 1]]``: rows that are probably good for query i; they
    make the search faster and do not change the result.
    """

    codes: Codes
    offsets: Ints
    floors: Floats
    seeds: Ints
    seed_offsets: Ints

    def part(self, begin: int, end: int) -> Queries:
        """Return the queries from ``begin`` to ``end`` - 1, or fewer if there are fewer."""
        offsets, seed_offsets = self.offsets[begin : end + 1], self.seed_offsets[begin : end + 1]
        return Queries(
            self.codes[offsets[0] : offsets[-1]], offsets - offsets[0], self.floors[begin:end],
            self.seeds[seed_offsets[0] : seed_offsets[-1]], seed_offsets - seed_offsets[0],
        )  # fmt: skip
