"""Plain versions of the lexical search: the definition in exact arithmetic, and counting in numpy; made texts and indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reflink.lexical import LexicalIndex
from reflink.lexical.cpu import plain
from reflink.lexical.trigrams import trigram_sets
from reflink.text import Mode
from tests.reflink.lexical.test_trigrams import defined

Ranked = list[tuple[str, float]]


def brute(texts: Mapping[str, str], query: str, k: int, floor: float = 0.0) -> Ranked:
    """Score every text by the published formula in exact arithmetic; return the k best."""
    scored = sorted((-defined(query, text), id_) for id_, text in texts.items())
    return [(id_, float(-score)) for score, id_ in scored if score and float(-score) >= floor][:k]


def indexed(texts: Mapping[str, str], mode: Mode = "T", *, threads: int = 1) -> LexicalIndex:
    """Return an index of these texts by id."""
    index = LexicalIndex(mode, threads=threads)
    index.add(list(texts), list(texts.values()))
    return index


class Counted:
    """Many texts, each compared with a query by counting in numpy."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        # In the order of their ids, so that a stable sort resolves equal scores.
        self.ids = sorted(texts)
        self.codes, self.offsets = trigram_sets([texts[id_] for id_ in self.ids])
        self.sizes = np.diff(self.offsets)

    def best(self, query: str, k: int, floor: float = 0.0) -> Ranked:
        """Return the k best texts with a score of at least ``floor``."""
        wanted = trigram_sets([query])[0]
        scores = plain.scores(plain.overlaps(self.codes, self.offsets, wanted), len(wanted), self.sizes)
        order = np.argsort(-scores, kind="stable")[:k]
        return [(self.ids[at], float(scores[at])) for at in order if scores[at] > 0 and scores[at] >= floor]


def made(rng: np.random.Generator, number: int, words: Sequence[str], longest: int = 12) -> list[str]:
    """Return texts of randomly drawn words, frequent and rare ones, of many lengths; some are empty."""
    shares = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(len(words), (number, longest), p=shares / shares.sum())
    lengths = rng.integers(0, longest + 1, number)
    return [" ".join(words[at] for at in row[:length]) for row, length in zip(drawn.tolist(), lengths.tolist(), strict=True)]


def vocabulary(rng: np.random.Generator, number: int, alphabet: str) -> list[str]:
    """Return words of 2 to 9 letters."""
    return ["".join(rng.choice(list(alphabet), rng.integers(2, 10))) for _ in range(number)]
