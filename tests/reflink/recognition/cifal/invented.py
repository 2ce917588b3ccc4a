"""Invented citations with a label for every token, and their pieces."""

from __future__ import annotations

import random
from pathlib import Path

from reflink.recognition import labels as tag
from reflink.recognition.cifal.pieces import Pieced, WordPieces
from reflink.recognition.labelled import Labelled
from reflink.recognition.tokens import tokenise

NAMES = "Wang Abe Chen Dent Ekman Fry".split()
TOPICS = "plants rocks storms rivers".split()
VENUES = ("Journal of Ecology", "Journal of Storms", "Ecology", "Rome Rocks")


def invent(count: int, seed: int = 3) -> list[Labelled]:
    """Return citations "Wang A. Plants of rome. Journal of Ecology 2004, 12." of different lengths."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        runs: list[tuple[str, int]] = []
        for at in range(rng.randint(1, 3)):
            runs += [(rng.choice(NAMES), tag.L), (f" {rng.choice('ABC')}", tag.A)]
            runs += [(",", tag.A)] if at else []
        runs += [(".", tag.O), (f"{rng.choice(TOPICS).title()} of {rng.choice(TOPICS)}", tag.T), (".", tag.O)]
        runs += [
            (rng.choice(VENUES), tag.V),
            (str(rng.randint(1970, 2020)), tag.Y),
            (",", tag.O),
            (str(rng.randint(1, 99)), tag.N),
        ]
        words = [(word, label) for text, label in runs for word in tokenise(text).words]
        found.append(Labelled(" ".join(word for word, _ in words), [label for _, label in words], True))
    return found


def pieced(folder: Path, citations: list[Labelled]) -> list[Pieced]:
    """Return the pieces of the citations by the tokenizer in a folder."""
    pieces = WordPieces(folder)
    return [pieces(tokenise(citation.text), citation.labels) for citation in citations]
