"""Search for numbers, years and parts in a text.

Roman numerals up to XII count as numbers. One of a single letter counts only where punctuation or a word shows it to be a
number ("I: Theory", "Part I"), and other single letters only after such a word ("Trial A").
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.verdict.kernels.letters import DECIMAL, PART, REMARK, SPACE, VALUE_SHIFT, WORD
from reflink.verdict.kernels.vocabulary import NUMERALS, ROMAN_SHIFT, SEED, Codes, Hashes, Ints, added, finished, hashed, known

Kinds = npt.NDArray[np.uint16]

_WORDS: Final = ("part", "PART", "trial", "paper", "section", "volume", "book", "study")
_PARTS: Final = np.array([[*map(ord, word), *[0] * (8 - len(word))] for word in _WORDS], np.uint32)
_LENGTHS: Final = np.array([len(word) for word in _WORDS])
_CAPITALS: Final = 1  # the row of _PARTS that is all capitals
_LOWER: Final = 32

#: Elements of ``counts``: number of entries in the arrays of numbers, years, ordinals and words.
NUMBERS, YEARS, ORDINALS, WORD_COUNT = range(4)


@compiled()
def is_digit(letter: int, kinds: Kinds) -> bool:
    """Return whether a folded letter is a decimal digit of any script."""
    return 48 <= letter <= 57 or (letter > 127 and kinds[letter] & DECIMAL != 0)


@compiled()
def year_of(letters: Codes, start: int, end: int, kinds: Kinds) -> int:
    """Return the year that a run of digits denotes, from 1500 to 2099; 0 for any other number."""
    if end - start != 4:
        return 0
    one, two = letters[start], letters[start + 1]
    if not ((one == 49 and 53 <= two <= 57) or (one == 50 and two == 48)):
        return 0
    year = 0
    for at in range(start, end):
        year = 10 * year + (kinds[letters[at]] >> VALUE_SHIFT)
    return year


@compiled()
def digits_of_word(
    letters: Codes, start: int, end: int, kinds: Kinds, apart: bool, numbers: Hashes, years: Ints, ordinals: Hashes,
    counts: Ints,
) -> None:  # fmt: skip
    """Append the numbers, years and ordinals in a folded word; ``counts``: number of entries of each.

    ``apart``: years are not added to ``numbers``, and ordinals are not collected.
    """
    at = start
    while at < end:
        if not is_digit(letters[at], kinds):
            at += 1
            continue
        first, value = at, SEED
        while at < end and is_digit(letters[at], kinds):
            value = added(value, letters[at])
            at += 1
        value = finished(value)
        year = year_of(letters, first, at, kinds)
        if year:
            years[counts[YEARS]] = year
            counts[YEARS] += 1
        if not (year and apart):
            numbers[counts[NUMBERS]] = value
            counts[NUMBERS] += 1
        if end - at == 2 and not apart:
            a, b = letters[at], letters[at + 1]
            if (a == 115 and b == 116) or ((a == 110 or a == 114) and b == 100) or (a == 116 and b == 104):
                ordinals[counts[ORDINALS]] = value
                counts[ORDINALS] += 1


@compiled()
def _is_roman(code: int) -> bool:
    code |= _LOWER
    return code == 105 or code == 118 or code == 120


@compiled()
def _is_second(code: int) -> bool:
    """Return whether a character is the second letter of a word in _WORDS. This rejects most words at low cost."""
    return code == 97 or code == 65 or code == 114 or code == 101 or code == 116 or code == 111


@compiled()
def _counted(codes: Codes, at: int, end: int, kinds: Kinds) -> int:
    """Return the end of the capital or Roman numeral that follows a word like "Part"; 0 if there is none."""
    if 65 <= codes[at] <= 90 and (at + 1 == end or not kinds[codes[at + 1]] & WORD):
        return at + 1
    last = at
    while last < end and _is_roman(codes[last]):
        last += 1
    return last if last > at and (last == end or not kinds[codes[last]] & WORD) else 0


@compiled()
def _behind_word(codes: Codes, start: int, end: int, kinds: Kinds) -> int:
    """Return the position after a word like "Part" and the white space that follows; 0 if there is no such word."""
    for row in range(len(_PARTS)):
        length = _LENGTHS[row]
        head = codes[start] | _LOWER if row != _CAPITALS else codes[start]
        if start + length >= end or head != _PARTS[row, 0]:
            continue
        same = 1
        while same < length and codes[start + same] == _PARTS[row, same]:
            same += 1
        at = start + length
        if same < length or not kinds[codes[at]] & SPACE:
            continue
        while at < end and kinds[codes[at]] & SPACE:
            at += 1
        return at if at < end else 0
    return 0


@compiled()
def parts(
    codes: Codes, start: int, end: int, kinds: Kinds, words: Hashes, values: Ints, numbers: Hashes, counts: Ints
) -> tuple[bool, bool]:
    """Append the letters and Roman numerals of parts ("Part B", "I: Theory") in a text as written.

    Returns whether the text has opening brackets, and whether it has semicolons.
    """
    brackets, semicolons = False, False
    at, kind = start, np.uint16(0)
    while at < end:
        code, last_kind = codes[at], kind
        kind = kinds[code]
        here = at
        at += 1
        if kind & REMARK:
            brackets |= code != 59
            semicolons |= code == 59
        if not kind & PART & ((last_kind & WORD ^ WORD) * PART):
            continue
        before = codes[here - 1] if here > start else np.uint32(0)
        first, last, behind = 0, 0, 0
        if at < end and _is_second(codes[at]):
            behind = _behind_word(codes, here, end, kinds)
        if behind:
            first, last = behind, _counted(codes, behind, end, kinds)
            at = last if last else at
        if not last and code < 97 and _is_roman(code) and before != 46:
            after = here + 1
            while after < end and kinds[codes[after]] & SPACE:
                after += 1
            if after < end and (codes[after] == 58 or codes[after] == 46 or codes[after] == 41):
                first, last, at = here, here + 1, after + 1
        if last:
            kind = kinds[codes[at - 1]]
            value = SEED
            for position in range(first, last):
                value = added(value, codes[position] | _LOWER)
            value = finished(value)
            roman = known(words, values, value) >> ROMAN_SHIFT
            numbers[counts[NUMBERS]] = NUMERALS[roman] if roman else value
            counts[NUMBERS] += 1
    return brackets, semicolons


@compiled()
def without_zeros(letters: Codes, start: int, end: int) -> int:
    """Return the start of a number without its leading zeros; at least one digit stays."""
    while start < end - 1 and letters[start] == 48:
        start += 1
    return start


@compiled()
def roman_of(letters: Codes, start: int, end: int, words: Hashes, values: Ints) -> int:
    """Return the number of a Roman numeral up to XII, else 0."""
    number: int = known(words, values, hashed(letters, start, end)) >> ROMAN_SHIFT
    return number
