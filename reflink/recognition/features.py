"""Input of the taggers: the numbers of each token's hashed features, computed for a whole citation at once.

1. A word's own properties (its letters, shape, class) are hashed once and cached.
2. The features of its neighbours and their combinations are arithmetic on these hashes, in compiled kernels.

The weights depend on every number: any change of a feature requires new training and a new `reflink.recognition.crf.FORMAT`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final
from zlib import crc32

import numpy as np

from reflink.compiled import compiled
from reflink.recognition.summing import PLAIN
from reflink.recognition.tokens import Tokens

Codes = np.ndarray[Any, np.dtype[np.uint64]]
Indices = np.ndarray[Any, np.dtype[np.int64]]

#: Hashed features are numbers below 2**BITS; the weights have one row for each number.
BITS: Final = 17

#: Columns of `described`: hashes of the word, its shape, class, first three, last three and last two letters; then its flags.
_COLUMNS: Final = 7
#: Flags of a word. The last eight are the marks and the word that `positions` counts.
(
    _YEAR, _CAPITAL, _INITIAL, _OPENING, _CLOSING, _QUOTE, _BRACKET, _BRACKET_END, _COLON, _IN, _END
) = (np.uint64(1 << bit) for bit in range(11))  # fmt: skip
_MARKS: Final = {
    **dict.fromkeys("“‘«„「『", _OPENING), **dict.fromkeys("”’»」』", _CLOSING), **dict.fromkeys("\"'", _QUOTE),
    **dict.fromkeys("([", _BRACKET), **dict.fromkeys(")]", _BRACKET_END), ":": _COLON, "in": _IN, "In": _IN,
    **dict.fromkeys(".?!", _END),
}  # fmt: skip
#: Number of features of a token.
_FEATURES: Final = 41
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX2: Final = np.uint64(0xD6E8FEB86659FD93)
_ROLE: Final = np.uint64(0x51ED2701)
_SHIFT: Final = np.uint64(64 - BITS)
_29, _32 = np.uint64(29), np.uint64(32)
_0, _1, _2, _3, _4, _5, _7, _11 = (np.uint64(value) for value in (0, 1, 2, 3, 4, 5, 7, 11))


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1 << 13)
def word_of(word: str) -> bytes:
    """Return the hashes and flags of one word, a row of `described`."""
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
    flags = year * _YEAR | capital * _CAPITAL | initial * _INITIAL | _MARKS.get(word, _0)
    hashed = map(_hash, ("w" + itself, "s" + shape, "k" + kind, "h" + lower[:3], "t" + lower[-3:], "e" + lower[-2:]))
    return np.array([*hashed, flags], dtype=np.uint64).tobytes()


def described(tokens: Tokens) -> Codes:
    """Return the hashes and flags of all words, uint64 [tokens, 7]."""
    return np.frombuffer(b"".join(map(word_of, tokens.words)), dtype=np.uint64).reshape(-1, _COLUMNS)


def features(tokens: Tokens) -> Indices:
    """Return feature numbers, int64 [tokens, features], each below ``2**BITS``."""
    words = described(tokens)
    base = np.zeros((len(words) + 6, _COLUMNS), dtype=np.uint64)  # three empty tokens at either end
    base[3:-3] = words
    numbers: Indices = _features(base, positions(tokens, words))
    return numbers


def positions(tokens: Tokens, words: Codes) -> Codes:
    """Return for each token whether a space precedes it, and four small numbers that describe its position, uint64 [tokens, 5].

    The numbers encode the token's sentence and its position in it; quotes, brackets, years, a colon and "in" before it; its
    position as a share of the text; and its distances from the text's beginning and end.
    """
    starts, ends = (np.array(offsets, dtype=np.int64) for offsets in tokens[1:])
    places: Codes = _positions(words[:, -1], starts, ends)
    return places


@compiled(plain=PLAIN)
def _positions(flags: Codes, starts: Indices, ends: Indices) -> Codes:
    size = len(flags)
    places = np.empty((size, 5), dtype=np.uint64)
    sentence = since = depth = years = quoted = colon = inside = 0
    for at in range(size):
        flag = flags[at]
        spaced = 1 if at == 0 or starts[at] > ends[at - 1] else 0
        if spaced and at > 1 and flag & _CAPITAL and flags[at - 1] & _END and not flags[at - 2] & _INITIAL:
            sentence, since = sentence + 1, 0
        if flag & _OPENING or (flag & _QUOTE and spaced and not quoted):
            quoted = 1
        elif flag & _CLOSING or (flag & _QUOTE and quoted):
            quoted = 0
        elif flag & _BRACKET:
            depth = min(depth + 1, 2)
        elif flag & _BRACKET_END:
            depth = max(depth - 1, 0)
        elif flag & _COLON:
            colon = 1
        elif flag & _IN:
            inside = 1
        places[at, 0] = spaced
        places[at, 1] = min(years, 2) * 24 + min(sentence, 5) * 4 + quoted * 2 + (1 if depth else 0)
        places[at, 2] = min(since, 3) * 2 + spaced
        places[at, 3] = at * 12 // size * 4 + colon * 2 + inside
        places[at, 4] = min(at, 15) + 16 * min(size - at, 16)
        since += 1
        if flag & _YEAR:
            years += 1
    return places


@compiled()
def _mixed(code: np.uint64, template: np.uint64) -> np.uint64:
    """Return a different code for the same value in another role."""
    mixed = (code ^ (template * _ROLE)) * _MIX
    return mixed ^ (mixed >> _29)


@compiled(plain=PLAIN)
def _features(base: Codes, places: Codes) -> Indices:
    size = len(places)
    kinds = np.empty(size + 6, dtype=np.uint64)  # a class, and whether a space precedes it
    for at in range(size + 6):
        spaced = places[at - 3, 0] if 3 <= at < size + 3 else _0
        kinds[at] = _mixed(base[at, 2] * _2 + spaced, _1)
    start = _0
    for i in range(min(5, size + 3)):
        start += np.uint64(2 * i + 1) * base[3 + i, 2]
    opening = _mixed(start, np.uint64(8))
    numbers = np.empty((size, _FEATURES), dtype=np.int64)
    for token in range(size):
        t = token + 3
        back = _mixed(kinds[t - 1] * _3 + kinds[t], _2)
        ahead = _mixed(kinds[t] * _5 + kinds[t + 1], _3)
        around = _mixed(back * _7 + kinds[t + 1], _4)
        before2 = _mixed(kinds[t - 2] * _3 + back, _5)
        after2 = _mixed(ahead * _5 + kinds[t + 2], np.uint64(6))
        wide = _mixed(before2 * _11 + after2, _7)
        state, place, share, ends = places[token, 1], places[token, 2], places[token, 3], places[token, 4]
        w0, s0 = base[t, 0], base[t, 1]
        row = (
            _0, w0, s0, kinds[t], base[t, 3], base[t, 4], base[t, 5],
            base[t - 1, 0], base[t + 1, 0], base[t - 2, 0], base[t + 2, 0], base[t - 1, 4], base[t + 1, 4],
            base[t - 1, 1], base[t + 1, 1], base[t - 2, 1], base[t + 2, 1],
            kinds[t - 3], kinds[t + 3], back, ahead, around, before2, after2, wide,
            w0 * _3 + kinds[t + 1], w0 * _3 + kinds[t - 1], base[t - 1, 0] * _3 + kinds[t],
            w0 * _3 + base[t + 1, 0], w0 * _3 + base[t - 1, 0], base[t - 2, 0] * _3 + base[t - 1, 0],
            base[t + 1, 0] * _3 + base[t + 2, 0],
            state * _MIX + s0, state * _MIX + around, share * _MIX + s0, share * _MIX + state, ends * _MIX + kinds[t],
            place * _MIX + back, opening + around, opening * _3 + state * _MIX + kinds[t], state * _MIX + w0,
        )  # fmt: skip
        for feature in range(_FEATURES):
            code = (row[feature] + np.uint64(feature + 1) * _MIX2) * _MIX
            code = (code ^ (code >> _32)) * _MIX
            numbers[token, feature] = np.int64(code >> _SHIFT)
    return numbers
