"""The input of the taggers and the probabilities of runs, in plain Python and numpy, token by token or column by column."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np

from reflink.recognition.bigru.encoding import OFFSETS, SIZES
from reflink.recognition.features import BITS
from reflink.recognition.labels import label_runs
from reflink.recognition.tagging import Span, Tagging
from reflink.recognition.tokens import Tokens

Array = np.ndarray[Any, np.dtype[Any]]

MIX = np.uint64(0x9E3779B97F4A7C15)


def word_of(word: str) -> tuple[list[int], bool, bool, bool]:
    """Six hashes of a word; whether it is a year, begins with a capital, may be initials."""
    lower, size = word.lower(), len(word)
    year = capital = initial = False
    if word[0] in "0123456789":
        year = size == 4 and "1500" <= word <= "2039"
        shape = f"0{min(size, 7)}" if not year else "recent" if word >= "1950" else "old"
        kind = "year" if year else ("1", "1", "3", "4", "5")[min(size, 5) - 1]
        itself = word if size < 3 or year else shape
    elif word[0].isalpha():
        capital, initial, itself = not word[0].islower(), size <= 3 and word.isupper(), lower
        if not word[0].isupper() and not word[0].islower():
            shape, kind = f"ideograph{min(size, 5)}", "ideograph"
        elif word.islower():
            shape, kind = f"x{min(size, 6)}", "x"
        elif word.isupper():
            shape = kind = f"X{size}" if initial else "XX"
        else:
            shape, kind = (f"Xx{min(size, 6)}" if word[1:].islower() else "xX"), "Xx"
    else:
        shape = kind = itself = word
    texts = ("w" + itself, "s" + shape, "k" + kind, "h" + lower[:3], "t" + lower[-3:], "e" + lower[-2:])
    return [crc32(text.encode("utf-8", "surrogatepass")) for text in texts], year, capital, initial


def positions(tokens: Tokens) -> list[tuple[int, int, int, int, int]]:
    words, starts, ends = tokens
    known = [word_of(word) for word in words]
    size = len(words)
    places: list[tuple[int, int, int, int, int]] = []
    sentence = since = depth = years = 0
    quoted = colon = inside = False
    for at, word in enumerate(words):
        spaced = at == 0 or starts[at] > ends[at - 1]
        if spaced and at > 1 and known[at][2] and words[at - 1] in (".", "?", "!") and not known[at - 2][3]:
            sentence, since = sentence + 1, 0
        if word in tuple("“‘«„「『") or (word in ('"', "'") and spaced and not quoted):
            quoted = True
        elif word in tuple("”’»」』") or (word in ('"', "'") and quoted):
            quoted = False
        elif word in ("(", "["):
            depth = min(depth + 1, 2)
        elif word in (")", "]"):
            depth = max(depth - 1, 0)
        colon = colon or word == ":"
        inside = inside or word in ("in", "In")
        state = min(years, 2) * 24 + min(sentence, 5) * 4 + quoted * 2 + (depth > 0)
        share = at * 12 // size
        places.append(
            (spaced, state, min(since, 3) * 2 + spaced, share * 4 + colon * 2 + inside, min(at, 15) + 16 * min(size - at, 16))
        )
        since += 1
        years += known[at][1]
    return places


def _mixed(codes: Array, template: int) -> Array:
    mixed = (codes ^ np.uint64(template * 0x51ED2701)) * MIX
    return mixed ^ (mixed >> np.uint64(29))


def features(tokens: Tokens) -> Array:
    """The numbers of `reflink.recognition.features.features`, one column after the other."""
    size = len(tokens.words)
    base = np.zeros((size + 6, 6), dtype=np.uint64)
    base[3:-3] = [word_of(word)[0] for word in tokens.words]
    places = np.array(positions(tokens), dtype=np.uint64)
    space = np.zeros(size + 6, dtype=np.uint64)
    space[3:-3] = places[:, 0]
    kinds = _mixed(base[:, 2] * np.uint64(2) + space, 1)
    opening = _mixed(np.array([sum((2 * i + 1) * int(code) for i, code in enumerate(base[3:8, 2]))], dtype=np.uint64), 8)

    def w(at: int) -> Array:
        return base[3 + at : 3 + at + size, 0]

    def s(at: int) -> Array:
        return base[3 + at : 3 + at + size, 1]

    def k(at: int) -> Array:
        return kinds[3 + at : 3 + at + size]

    def part(column: int, at: int = 0) -> Array:
        return base[3 + at : 3 + at + size, column]

    def times(codes: Array, factor: int) -> Array:
        return codes * np.uint64(factor)

    back, ahead = _mixed(times(k(-1), 3) + k(0), 2), _mixed(times(k(0), 5) + k(1), 3)
    around = _mixed(times(back, 7) + k(1), 4)
    before2, after2 = _mixed(times(k(-2), 3) + back, 5), _mixed(times(ahead, 5) + k(2), 6)
    wide = _mixed(times(before2, 11) + after2, 7)
    state, place, share, ends = (places[:, column] * MIX for column in (1, 2, 3, 4))
    columns = [
        times(w(0), 0), w(0), s(0), k(0), part(3), part(4), part(5), w(-1), w(1), w(-2), w(2), part(4, -1), part(4, 1),
        s(-1), s(1), s(-2), s(2), k(-3), k(3), back, ahead, around, before2, after2, wide, times(w(0), 3) + k(1),
        times(w(0), 3) + k(-1), times(w(-1), 3) + k(0), times(w(0), 3) + w(1), times(w(0), 3) + w(-1), times(w(-2), 3) + w(-1),
        times(w(1), 3) + w(2), state + s(0), state + around, share + s(0), share + places[:, 1], ends + k(0), place + back,
        opening + around, times(opening, 3) + state + k(0), state + w(0),
    ]  # fmt: skip
    codes = np.stack(columns, axis=1)
    codes = (codes + np.arange(1, len(columns) + 1, dtype=np.uint64) * np.uint64(0xD6E8FEB86659FD93)) * MIX
    codes = (codes ^ (codes >> np.uint64(32))) * MIX
    return (codes >> np.uint64(64 - BITS)).astype(np.int64)


def rows(tokens: Tokens) -> list[list[int]]:
    """The numbers of `reflink.recognition.bigru.encoding.encode`."""
    numbers = (
        ((hashes := word_of(word)[0])[0] // SIZES[1], *hashes, *place)
        for word, place in zip(tokens.words, positions(tokens), strict=True)
    )
    return [[n % size + int(first) for n, size, first in zip(row, SIZES, OFFSETS, strict=True)] for row in numbers]


def spans(tagging: Tagging) -> list[Span]:
    """The runs of equal labels: P(the run starts here) * P(it continues at each token) * P(it ends at the last)."""
    found: list[Span] = []
    labels, sure, stays = tagging
    for label, start, stop in label_runs(labels):
        own = np.maximum(sure[start:stop, label], 1e-12)
        begins = own[0] - (stays[start - 1, label] if start else 0.0)
        on = (stays[start : stop - 1, label] / own[:-1]).prod()
        ends = (own[-1] - stays[stop - 1, label]) / own[-1]
        found.append(Span(label, start, stop, float(min(max(begins * on * ends, 0.0), 1.0))))
    return found
