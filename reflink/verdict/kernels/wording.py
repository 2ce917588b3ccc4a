"""Kernels that fold a title or a citation and extract its words, trigrams, numbers and marks in one pass over its characters.

``packing`` calls `title` and `text` once for each record. Both append to the arrays of `Packed` and write the ends of what they
appended to the record. Invariants of both loops:

1. The marks of a title equal the result of ``reflink.verdict.titles.marks``. With semicolons, or with brackets and marks, they
   are provisional: ``packing`` flags such a record as ``unsure``.
2. A word is complete at the blank that follows it. The loops read one blank past the last character, so that the last word
   is complete too.
3. Words are looked up by a hash that grows with each letter. No word is read twice, except to read its digits.
4. A word that marks a title, but also has other senses, counts as the first or the last word of the title. It also counts at
   positions up to ``_NEAR`` (from 0) if it does not follow "in" and precedes "to" or "on". ``pending`` therefore holds the
   previous word's marks until the next word is known.
5. Each trigram of a title is written once. A bit filter shows that most trigrams are new; only a trigram whose bit is set is
   compared with all trigrams written so far.

Cost: linear in the number of folded letters, except for the comparisons of rule 5.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from reflink.compiled import compiled
from reflink.verdict.kernels.letters import BLANK, DROPPED, expanded
from reflink.verdict.kernels.numerals import NUMBERS, WORD_COUNT, digits_of_word, without_zeros
from reflink.verdict.kernels.tables import Tables
from reflink.verdict.kernels.vocabulary import (  # fmt: skip
    AL,
    ALL_MARKS,
    ALONE,
    ALWAYS,
    BEFORE_ON,
    BEFORE_TO,
    DATA,
    ET,
    EXECUTIVE,
    FROM,
    IN,
    NO_VENUE,
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
    hashed,
    known,
)
from reflink.verdict.rules import LONG_PAGE
from reflink.verdict.titles import _NEAR

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
#: Length of the filter of trigrams, in words of 64 bits: a bit that is not set proves that a trigram is new.
FILTER: Final = 128
_FILTER_SHIFT: Final = np.uint64(64 - 13)
_MASK: Final = np.uint64((1 << 63) - 1)
_CODE: Final = np.uint64(21)
#: Flags of a citation's word: a stop word of venues; a word whose second hash can be found alone: not the
#: short number of a word that begins with a letter ("s2").
STOP_WORD, APART = 1, 2


class Scratch(NamedTuple):
    """Working memory of the preparation of a batch.

    ``filter`` uint64 [FILTER]: bits of a title's trigrams. ``ends`` int64: ends of the words of a short field. ``counts``
    int64 [4]: number of entries in the arrays of `Packed`, at NUMBERS, YEARS, ORDINALS and WORD_COUNT.
    """

    filter: Hashes
    ends: Ints
    counts: Ints


@compiled()
def next_gram(gram: np.uint64, letter: int) -> np.uint64:
    """Return the trigram that ends with ``letter``: three code points of 21 bits each.

    Before the third letter, the result encodes the whole text so far.
    """
    return ((gram << _CODE) | np.uint64(letter)) & _MASK


@compiled(inline="always")
def title(codes: Codes, start: int, stop: int, tables: Tables, packed: Any, scratch: Scratch, record: Any) -> None:
    """Append a title's letters, distinct trigrams, numbers, years and marks.

    ``codes[start:stop]``: the title's characters. ``packed``: `reflink.verdict.kernels.packing.Packed`. ``record``: begins at
    ``title`` in the letters and at ``grams`` in the trigrams; this function sets ``title_end``, ``grams_end`` and ``marks``.
    """
    # Read each array from its tuple once: each access counts references.
    folds, kinds, expansions, words, values = tables
    letters, grams, numbers, years, ordinals = packed.letters, packed.grams, packed.numbers, packed.years, packed.ordinals
    filter_, counts = scratch.filter, scratch.counts
    at, gram_at = record.title, record.grams
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
                        numbers[counts[NUMBERS]] = NUMERALS[value >> ROMAN_SHIFT]
                        counts[NUMBERS] += 1
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
    record.title_end, record.grams_end = at, gram_at


@compiled()
def number_of_word(letters: Codes, start: int, end: int, hashes: Hashes, begin: Ints) -> None:
    """Set a word's second hash to that of its first number, without leading zeros, if the word has a digit.

    The number can be found alone, as a volume or page, if it begins the word or has at least ``LONG_PAGE`` digits.
    """
    first = start
    while first < end and not 48 <= letters[first] <= 57:
        first += 1
    if first == end:
        return
    last = first
    while last < end and 48 <= letters[last] <= 57:
        last += 1
    first_kept = without_zeros(letters, first, last)
    hashes[1] = hashed(letters, first_kept, last)
    if first == start or last - first_kept >= LONG_PAGE:
        begin[1] |= APART
    else:
        begin[1] &= ~APART


@compiled(inline="always")
def text(codes: Codes, start: int, stop: int, tables: Tables, packed: Any, scratch: Scratch, record: Any) -> None:
    """Append a citation's letters, words, numbers, years, ordinals and marks, with the arguments of `title`.

    The words are in ``words`` [w, 2]: as folded, and with "ae", "oe", "ue" shortened to "a", "o", "u" or, if a word has digits,
    its number. ``record`` begins at ``raw`` in the letters; this function sets ``raw_end``, ``raw_length``, ``raw_marks``,
    ``raw_mark_words`` and ``others``.
    """
    folds, kinds, expansions, words, values = tables
    letters, hashes, numbers, years, ordinals = packed.letters, packed.words, packed.numbers, packed.years, packed.ordinals
    counts, begins = scratch.counts, packed.begins
    at = record.raw
    begun, word, number, before, last = at, at, counts[WORD_COUNT], 0, 0
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
                if letter != 101 or not (last == 97 or last == 111 or last == 117):  # read "ae" as "a"
                    soft = added(soft, letter)
                digits |= letter < 58 or letter > 127
            elif at > word:
                hash_, soft = finished(hash_), finished(soft)
                here_word = counts[WORD_COUNT]
                hashes[here_word, 0], hashes[here_word, 1] = hash_, soft
                counts[WORD_COUNT] += 1
                value = known(words, values, hash_)
                begins[here_word, 0], begins[here_word, 1] = word, (STOP_WORD if value & NO_VENUE else 0) | APART
                if value & AL and before & ET:
                    record.others = 1
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
                        numbers[counts[NUMBERS]] = NUMERALS[value >> ROMAN_SHIFT]
                        counts[NUMBERS] += 1
                if soft != hash_:
                    record.raw_mark_words |= known(words, values, soft) & ALL_MARKS
                if digits:
                    digits_of_word(letters, word, at, kinds, False, numbers, years, ordinals, counts)
                    number_of_word(letters, word, at, hashes[here_word], begins[here_word])
                hash_, soft, digits, word, before = SEED, SEED, False, at, value
            last = letter
    record.raw_end, record.raw_length = at, at - begun + max(counts[WORD_COUNT] - number - 1, 0)
