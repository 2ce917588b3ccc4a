"""Character trigrams of normalised texts, and the similarity of two sets of them (paper section 3.4.2).

A trigram is a 16-bit code: the alphabet ``[ 0-9a-z]`` has 37 letters, so there are 37³ = 50,653 of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.storage.idtable import frozen

ALPHABET: Final = " 0123456789abcdefghijklmnopqrstuvwxyz"
LETTERS: Final = len(ALPHABET)
TRIGRAMS: Final = LETTERS**3

Codes = npt.NDArray[np.uint16]
Letters = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]

_OUTSIDE: Final = 255


def _letter_of_byte() -> Letters:
    table = np.full(256, _OUTSIDE, np.uint8)
    table[np.frombuffer(ALPHABET.encode(), np.uint8)] = np.arange(LETTERS)
    return table


_LETTER_OF_BYTE: Final = _letter_of_byte()


def letters(texts: Sequence[str]) -> tuple[Letters, Rows]:
    """Return the concatenated texts as letter numbers (0-36), uint8, and the offset of each text: int64 [n + 1].

    Raises ValueError if a text contains a character outside ``[a-z0-9 ]``, that is, if it was not normalised.
    """
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    # Every character outside ASCII becomes one "?", which is outside the alphabet too, so lengths do not change.
    numbers = _LETTER_OF_BYTE[np.frombuffer("".join(texts).encode("ascii", "replace"), np.uint8)]
    outside = numbers == _OUTSIDE
    if outside.any():
        text = texts[int(np.searchsorted(offsets, outside.argmax(), side="right")) - 1]
        raise ValueError(f"text not normalised for trigrams (letters a-z, digits, spaces only): {text[:60]!r}")
    return frozen(numbers), frozen(offsets)


def trigrams(text: str) -> Codes:
    """Return the distinct trigrams of a normalised text, ascending: uint16 [number]; empty below 3 characters."""
    return trigram_sets([text])[0]


def trigram_sets(texts: Sequence[str]) -> tuple[Codes, Rows]:
    """Return the distinct trigrams of each text, ascending and concatenated, uint16, and their offsets: int64 [n + 1]."""
    codes, offsets = _trigram_sets(*letters(texts), TRIGRAMS)
    return frozen(codes), frozen(offsets)


def score(overlap: int, a: int, b: int) -> float:
    """Return s of two sets of ``a`` and ``b`` trigrams with ``overlap`` in common: 2o / (a + b + min(a, b) − o), 0 if o is 0.

    With J = o / (a + b − o) and C = o / min(a, b) this is 2JC / (J + C). Numerator and denominator are below 2^18, so two
    different ratios differ by more than 2^-36 and one correctly rounded float64 division keeps both order and ties.
    """
    return 2 * overlap / (a + b + min(a, b) - overlap) if overlap else 0.0


def similarity(a: str, b: str) -> float:
    """Return s of two normalised texts: 1 for the same set of trigrams, 0 if none is common or a text has none."""
    codes, offsets = trigram_sets([a, b])
    first, second = codes[: offsets[1]], codes[offsets[1] :]
    return score(len(np.intersect1d(first, second, assume_unique=True)), len(first), len(second))


@compiled(nogil=True)
def _trigram_sets(text: Letters, offsets: Rows, trigrams: int) -> tuple[Codes, Rows]:
    codes, starts = np.empty(len(text), np.uint16), np.zeros(len(offsets), np.int64)
    last = np.full(trigrams, -1, np.int64)  # the last text that had each trigram
    size = 0
    for number in range(len(offsets) - 1):
        begin = size
        for at in range(offsets[number], offsets[number + 1] - 2):
            code = (np.int64(text[at]) * 37 + text[at + 1]) * 37 + text[at + 2]
            if last[code] != number:
                last[code] = number
                codes[size] = code
                size += 1
        codes[begin:size].sort()
        starts[number + 1] = size
    return codes[:size].copy(), starts
