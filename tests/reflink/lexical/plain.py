"""The lexical search read plainly: every pair of texts in sets and fractions, or every overlap by counting in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reflink.lexical.cpu import plain
from reflink.lexical.trigrams import trigram_sets
from tests.reflink.lexical.test_trigrams import defined

Ranked = list[tuple[str, float]]


def brute(texts: Mapping[str, str], query: str, k: int, floor: float = 0.0) -> Ranked:
    """Every text scored by the published formula in exact arithmetic."""
    scored = sorted((-defined(query, text), id_) for id_, text in texts.items())
    return [(id_, float(-score)) for score, id_ in scored if score and float(-score) >= floor][:k]


class Counted:
    """Many texts, each compared with a query by counting in numpy."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        # In the order of their ids, so that a stable sort resolves equal scores.
        self.ids = sorted(texts)
        self.codes, self.offsets = trigram_sets([texts[id_] for id_ in self.ids])
        self.sizes = np.diff(self.offsets)

    def best(self, query: str, k: int, floor: float = 0.0) -> Ranked:
        """The k best of at least ``floor``."""
        wanted = trigram_sets([query])[0]
        scores = plain.scores(plain.overlaps(self.codes, self.offsets, wanted), len(wanted), self.sizes)
        order = np.argsort(-scores, kind="stable")[:k]
        return [(self.ids[at], float(scores[at])) for at in order if scores[at] > 0 and scores[at] >= floor]


def made(rng: np.random.Generator, number: int, words: Sequence[str], longest: int = 12) -> list[str]:
    """Texts of drawn words, common ones often, of many lengths; some are empty."""
    shares = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(len(words), (number, longest), p=shares / shares.sum())
    lengths = rng.integers(0, longest + 1, number)
    return [" ".join(words[at] for at in row[:length]) for row, length in zip(drawn.tolist(), lengths.tolist(), strict=True)]


def vocabulary(rng: np.random.Generator, number: int, alphabet: str) -> list[str]:
    """Words of 2 to 9 letters."""
    return ["".join(rng.choice(list(alphabet), rng.integers(2, 10))) for _ in range(number)]
