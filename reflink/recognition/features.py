"""Input of the tagger: the numbers of each token's hashed features, computed for a whole citation at once.

1. A word's own properties (its letters, shape, class) are hashed once and cached.
2. The features of its neighbours and their combinations are arithmetic on these hashes.

Cost of a citation: a few operations on small arrays. The weights depend on every number: any change of a feature requires new
training and a new `reflink.recognition.crf.FORMAT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np

from reflink.recognition.tokens import Tokens

Codes = np.ndarray[Any, np.dtype[np.uint64]]
Indices = np.ndarray[Any, np.dtype[np.int64]]

#: Hashed features are numbers below 2**BITS; the weights have one row for each number.
BITS: Final = 17

_ONE: Final = np.uint64(1)
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(64 - BITS)
_OPENING: Final = frozenset("“‘«„「『")
_CLOSING: Final = frozenset("”’»」』")
_ENDS: Final = frozenset(".?!")


class Word(NamedTuple):
    """Hashes of one word (the word, its shape, class, first three, last three and last two letters) and its flags."""

    itself: int
    shape: int
    kind: int
    head: int
    tail: int
    end: int
    year: bool
    capital: bool
    initial: bool


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1 << 13)
def word_of(word: str) -> Word:
    """Return the hashes and flags of one word."""
    lower = word.lower()
    first = word[0]
    year = capital = initial = False
    if first in "0123456789":
        size = len(word)
        year = size == 4 and ("1500" <= word <= "2039")
        shape = "year" if year else f"0{min(size, 7)}"
        if year:
            shape = "recent" if word >= "1950" else "old"
        kind = "year" if year else "1" if size < 3 else "3" if size == 3 else "4" if size == 4 else "5"
        itself = word if size < 3 or year else shape
    elif first.isalpha():
        size = len(word)
        capital = not first.islower()
        initial = size <= 3 and word.isupper()
        if not first.isupper() and not first.islower():
            shape, kind = f"ideograph{min(size, 5)}", "ideograph"
        elif word.islower():
            shape, kind = f"x{min(size, 6)}", "x"
        elif initial:
            shape = kind = f"X{size}"
        elif word.isupper():
            shape, kind = "XX", "XX"
        elif word[1:].islower():
            shape, kind = f"Xx{min(size, 6)}", "Xx"
        else:
            shape, kind = "xX", "Xx"
        itself = lower
    else:
        shape = kind = itself = word
    return Word(
        _hash("w" + itself), _hash("s" + shape), _hash("k" + kind), _hash("h" + lower[:3]), _hash("t" + lower[-3:]),
        _hash("e" + lower[-2:]), year, capital, initial,
    )  # fmt: skip


def positions(tokens: Tokens, known: Sequence[Word]) -> list[tuple[int, int, int, int, int]]:
    """Return for each token whether a space precedes it, and small numbers that describe its position in the text.

    The numbers encode the token's sentence and its position in it; quotes, brackets, years, a colon and "in" before it; its
    position as a share of the text; and its distances from the text's beginning and end.
    """
    words, starts, ends = tokens
    size = len(words)
    places: list[tuple[int, int, int, int, int]] = []
    sentence = since = depth = years = 0
    quoted = colon = inside = False
    for at, word in enumerate(words):
        spaced = at == 0 or starts[at] > ends[at - 1]
        if spaced and at > 1 and known[at].capital and words[at - 1] in _ENDS and not known[at - 2].initial:
            sentence, since = sentence + 1, 0
        if word in _OPENING or (word in "\"'" and spaced and not quoted):
            quoted = True
        elif word in _CLOSING or (word in "\"'" and quoted):
            quoted = False
        elif word in "([":
            depth = min(depth + 1, 2)
        elif word in ")]":
            depth = max(depth - 1, 0)
        elif word == ":":
            colon = True
        elif word == "in" or word == "In":
            inside = True
        state = min(years, 2) * 24 + min(sentence, 5) * 4 + quoted * 2 + (depth > 0)
        place = min(since, 3) * 2 + spaced
        share = at * 12 // size
        places.append((spaced, state, place, share * 4 + colon * 2 + inside, min(at, 15) + 16 * min(size - at, 16)))
        since += 1
        years += known[at].year
    return places


def _mixed(codes: Codes, template: int) -> Codes:
    """Return different codes for the same values in another role."""
    mixed = (codes ^ np.uint64(template * 0x51ED2701)) * _MIX
    return mixed ^ (mixed >> np.uint64(29))


def features(tokens: Tokens) -> Indices:
    """Return feature numbers, int64 [tokens, features], each below ``2**BITS``."""
    size = len(tokens.words)
    known = [word_of(word) for word in tokens.words]
    base = np.zeros((size + 6, 6), dtype=np.uint64)
    base[3:-3] = [word[:6] for word in known]
    places = np.array(positions(tokens, known), dtype=np.uint64)
    space = np.zeros(size + 6, dtype=np.uint64)
    space[3:-3] = places[:, 0]

    def at(column: int, offset: int) -> Codes:
        return base[3 + offset : 3 + offset + size, column]

    kinds = _mixed(base[:, 2] * np.uint64(2) + space, 1)  # a class, and whether a space precedes it
    kind = {offset: kinds[3 + offset : 3 + offset + size] for offset in range(-3, 4)}
    back = _mixed(kind[-1] * np.uint64(3) + kind[0], 2)
    ahead = _mixed(kind[0] * np.uint64(5) + kind[1], 3)
    around = _mixed(back * np.uint64(7) + kind[1], 4)
    before2 = _mixed(kind[-2] * np.uint64(3) + back, 5)
    after2 = _mixed(ahead * np.uint64(5) + kind[2], 6)
    wide = _mixed(before2 * np.uint64(11) + after2, 7)
    state, place, share, ends = places[:, 1], places[:, 2], places[:, 3], places[:, 4]
    opening = _mixed(np.uint64(sum((2 * i + 1) * int(code) for i, code in enumerate(base[3:8, 2]))) + np.zeros_like(state), 8)
    w0, s0 = at(0, 0), at(1, 0)
    columns = [
        np.zeros_like(state),
        w0, s0, kind[0], at(3, 0), at(4, 0), at(5, 0),
        at(0, -1), at(0, 1), at(0, -2), at(0, 2), at(4, -1), at(4, 1), at(1, -1), at(1, 1), at(1, -2), at(1, 2),
        kind[-3], kind[3], back, ahead, around, before2, after2, wide,
        w0 * np.uint64(3) + kind[1], w0 * np.uint64(3) + kind[-1], at(0, -1) * np.uint64(3) + kind[0],
        w0 * np.uint64(3) + at(0, 1), w0 * np.uint64(3) + at(0, -1), at(0, -2) * np.uint64(3) + at(0, -1),
        at(0, 1) * np.uint64(3) + at(0, 2),
        state * _MIX + s0, state * _MIX + around, share * _MIX + s0, share * _MIX + state, ends * _MIX + kind[0],
        place * _MIX + back, opening + around, opening * np.uint64(3) + state * _MIX + kind[0], state * _MIX + w0,
    ]  # fmt: skip
    codes = np.stack(columns, axis=1)
    codes = (codes + np.arange(1, len(columns) + 1, dtype=np.uint64) * np.uint64(0xD6E8FEB86659FD93)) * _MIX
    codes ^= codes >> np.uint64(32)
    codes *= _MIX
    numbers: Indices = (codes >> _SHIFT).astype(np.int64)
    return numbers
