"""Titles and citations in one pass: folded, cut into words and trigrams, and what their words say."""

from __future__ import annotations

from typing import Any, Final

import numba
import numpy as np

from reflink.verdict.compiled.letters import BLANK, DROPPED, expanded
from reflink.verdict.compiled.numerals import Kinds, digits_of_word
from reflink.verdict.compiled.vocabulary import (
    ALL_MARKS,
    ALONE,
    ALWAYS,
    BEFORE_ON,
    BEFORE_TO,
    DATA,
    EXECUTIVE,
    FROM,
    IN,
    NUMERALS,
    ON,
    ROMAN_SHIFT,
    SEED,
    SUMMARY,
    TO,
    WORD_MARKS,
    Codes,
    Hashes,
    Ints,
    added,
    finished,
    known,
)  # fmt: skip
from reflink.verdict.titles import _NEAR

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
#: Words of 64 bits that tell whether a trigram may be in a title already.
FILTER: Final = 128
_FILTER_SHIFT: Final = np.uint64(64 - 13)
_MASK: Final = np.uint64((1 << 63) - 1)
_CODE: Final = np.uint64(21)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def next_gram(gram: np.uint64, letter: int) -> np.uint64:
    """The trigram that ends with ``letter``, as ``reflink.verdict.grams`` has it; before the third letter, the text itself."""
    return ((gram << _CODE) | np.uint64(letter)) & _MASK


@numba.njit(cache=True, inline="always")  # type: ignore[untyped-decorator]
def title(
    codes: Codes, start: int, stop: int, folds: Ints, expansions: Ints, letters: Codes, at: int, kinds: Kinds, words: Hashes,
    values: Ints, grams: Hashes, gram_at: int, filter_: Hashes, numbers: Hashes, years: Ints, ordinals: Hashes, counts: Ints,
    record: Any,
) -> tuple[int, int]:  # fmt: skip
    """Writes a title's letters and distinct trigrams, its numbers and marks; where letters and trigrams stop."""
    begun, first_gram, word, number = at, gram_at, at, 0
    hash_, gram, digits, seen, before, pending = SEED, np.uint64(0), False, 0, 0, 0
    filter_[:] = np.uint64(0)
    for position in range(start, stop + 1):
        fold = folds[codes[position]] if position < stop else BLANK
        here, many = expanded(fold)
        for each in range(here, here + many):
            letter = expansions[each] if fold > DROPPED else fold
            if letter != BLANK:
                letters[at] = letter
                at += 1
                hash_ = added(hash_, letter)
                digits |= letter < 58 or letter > 127
                gram = next_gram(gram, letter)
                if at - begun >= 3:
                    spread = (gram * _GOLDEN) >> _FILTER_SHIFT
                    bit = np.uint64(1) << (spread & np.uint64(63))
                    fresh = True
                    if filter_[spread >> np.uint64(6)] & bit:
                        for other in range(first_gram, gram_at):
                            fresh &= grams[other] != gram
                    if fresh:
                        filter_[spread >> np.uint64(6)] |= bit
                        grams[gram_at] = gram
                        gram_at += 1
            elif at > word:
                value = known(words, values, finished(hash_))
                if value:
                    seen |= value
                    if value >> ROMAN_SHIFT and at - word > 1:
                        numbers[counts[0]] = NUMERALS[value >> ROMAN_SHIFT]
                        counts[0] += 1
                    if number == 1 and before & DATA and value & FROM:
                        record.marks |= DATA
                    record.marks |= value & (WORD_MARKS if number == 0 else ALWAYS)
                    if value & (TO | ON):
                        record.marks |= pending
                pending = value & WORD_MARKS if number <= _NEAR and not before & IN else 0
                before = value
                if digits:
                    digits_of_word(letters, word, at, kinds, True, numbers, years, ordinals, counts)
                hash_, digits, word = SEED, False, at
                number += 1
    if 0 < at - begun < 3:
        grams[gram_at] = gram
        gram_at += 1
    record.marks |= before & WORD_MARKS  # the last word
    if seen & EXECUTIVE and seen & SUMMARY:
        record.marks |= SUMMARY
    return at, gram_at


@numba.njit(cache=True, inline="always")  # type: ignore[untyped-decorator]
def text(
    codes: Codes, start: int, stop: int, folds: Ints, expansions: Ints, letters: Codes, at: int, kinds: Kinds, words: Hashes,
    values: Ints, hashes: Hashes, numbers: Hashes, years: Ints, ordinals: Hashes, counts: Ints, record: Any,
) -> int:  # fmt: skip
    """Writes a citation's letters, its words in both spellings, numbers and marks; where letters stop."""
    begun, word, number, before, last = at, at, counts[3], 0, 0
    hash_, soft, digits = SEED, SEED, False
    for position in range(start, stop + 1):
        fold = folds[codes[position]] if position < stop else BLANK
        here, many = expanded(fold)
        for each in range(here, here + many):
            letter = expansions[each] if fold > DROPPED else fold
            if letter != BLANK:
                letters[at] = letter
                at += 1
                hash_ = added(hash_, letter)
                if letter != 101 or not (last == 97 or last == 111 or last == 117):  # "ae" is "a"
                    soft = added(soft, letter)
                digits |= letter < 58 or letter > 127
            elif at > word:
                hash_, soft = finished(hash_), finished(soft)
                hashes[counts[3], 0], hashes[counts[3], 1] = hash_, soft
                counts[3] += 1
                value = known(words, values, hash_)
                if value:
                    record.raw_mark_words |= value & ALL_MARKS
                    if not record.raw_marks:
                        if value & ALONE:
                            record.raw_marks = value & ALONE
                        elif value & TO:
                            record.raw_marks = before & BEFORE_TO
                        elif value & ON:
                            record.raw_marks = before & BEFORE_ON
                    if value >> ROMAN_SHIFT and at - word > 1:
                        numbers[counts[0]] = NUMERALS[value >> ROMAN_SHIFT]
                        counts[0] += 1
                if soft != hash_:
                    record.raw_mark_words |= known(words, values, soft) & ALL_MARKS
                if digits:
                    digits_of_word(letters, word, at, kinds, False, numbers, years, ordinals, counts)
                hash_, soft, digits, word, before = SEED, SEED, False, at, value
            last = letter
    record.raw_length = at - begun + max(counts[3] - number - 1, 0)
    return at
