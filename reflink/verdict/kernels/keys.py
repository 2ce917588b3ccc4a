"""Keys of volumes and pages. An empty key means that the record lacks the field.

A volume's key is its number: "12" for "Vol. 12(3)" and "XII". A page's key is its first page in lower case, letters and number
without leading zeros: "s12" for "S012-19".
"""

from __future__ import annotations

import numpy as np

from reflink.compiled import compiled
from reflink.verdict.kernels.letters import DIGIT
from reflink.verdict.kernels.numerals import Kinds, is_digit, roman_of, without_zeros
from reflink.verdict.kernels.vocabulary import Codes, Hashes, Ints
from reflink.verdict.rules import ARTICLE


@compiled()
def _whole(
    letters: Codes, begun: int, at: int, ends: Ints, number: int, words: Hashes, values: Ints
) -> tuple[int, int, int]:  # fmt: skip
    """Write the key of a text without digits: the text with its spaces, or the number of a Roman numeral.

    Returns the end of the letters, and the start and end of the key.
    """
    if number > 1:
        first, start = at, begun
        for word in range(number):
            if word:
                letters[at] = 32
                at += 1
            for position in range(start, ends[word]):
                letters[at] = letters[position]
                at += 1
            start = ends[word]
        return at, first, at
    roman = roman_of(letters, begun, at, words, values)
    if roman:
        first = at
        if roman > 9:
            letters[at] = 49
            at += 1
        letters[at] = 48 + roman % 10
        return at + 1, first, at + 1
    return at, begun, at


@compiled()
def volume_key(
    letters: Codes, begun: int, at: int, ends: Ints, number: int, kinds: Kinds, words: Hashes, values: Ints
) -> tuple[int, int, int]:
    """Return the end of the letters, and the start and end of the key, of the folded volume in letters ``begun`` to ``at``."""
    start = begun
    for word in range(number):
        end = ends[word]
        while start < end and not is_digit(letters[start], kinds):
            start += 1
        if start < end:
            last = start
            while last < end and is_digit(letters[last], kinds):
                last += 1
            return at, without_zeros(letters, start, last), last
    key: tuple[int, int, int] = _whole(letters, begun, at, ends, number, words, values)
    return key


@compiled()
def page_key(
    letters: Codes, begun: int, at: int, ends: Ints, number: int, kinds: Kinds, words: Hashes, values: Ints,
    codes: Codes, first: int, last: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Return the same as `volume_key` for a page. ``codes[first:last]``: the page as written."""
    numbered = False
    for position in range(first, last):
        numbered |= kinds[codes[position]] & DIGIT != 0
    if not numbered and number > 1:  # without digits, the spaces do not count: one word
        ends[0] = at
        number = 1
    start = begun
    for word in range(number):
        end, digit = ends[word], start
        while digit < end and not is_digit(letters[digit], kinds):
            digit += 1
        if digit == end:
            start = end
            continue
        stop = digit
        while stop < end and is_digit(letters[stop], kinds):
            stop += 1
        while digit > start and 97 <= letters[digit - 1] <= 122:
            digit -= 1
        numbered_key: tuple[int, int, int] = _without_zeros(letters, digit, stop, at)
        return numbered_key
    key: tuple[int, int, int] = _whole(letters, begun, at, ends, number, words, values)
    return key


@compiled()
def _without_zeros(letters: Codes, start: int, stop: int, at: int) -> tuple[int, int, int]:
    """Write the key of a page: its letters, and its number without leading zeros."""
    number = stop
    while number > start and 48 <= letters[number - 1] <= 57:
        number -= 1
    kept = without_zeros(letters, number, stop)
    if kept == number < stop:
        return at, start, stop
    first = at
    for position in range(start, number):
        letters[at] = letters[position]
        at += 1
    if number == stop:
        letters[at] = 48
        at += 1
    for position in range(kept, stop):
        letters[at] = letters[position]
        at += 1
    return at, first, at


@compiled()
def _begins_year(one: int, two: int) -> bool:
    """Return whether a number of four digits that begins so is a year from 1500 to 2099."""
    return (one == 49 and 53 <= two <= 57) or (one == 50 and two == 48)


@compiled()
def article_key(codes: Codes, start: int, stop: int, letters: Codes, at: int) -> tuple[int, int, int]:
    """Write the number at the end of a DOI, ``codes[start:stop]``: an article number of at least ``ARTICLE`` digits.

    A last character after a hyphen is a check digit ("s41598-017-12778-6"). A year is not an article number
    ("japplphysiol.00739.2012"). Returns the end of the letters, and the start and end of the key without leading zeros; the
    key is empty if there is no such number.
    """
    if stop - start > 2 and codes[stop - 2] == 45:
        stop -= 2
    first = stop
    while first > start and 48 <= codes[first - 1] <= 57:
        first -= 1
    if stop - first < ARTICLE or (stop - first == 4 and _begins_year(codes[first], codes[first + 1])):
        return at, at, at
    while first < stop and codes[first] == 48:
        first += 1
    begun = at
    for position in range(first, stop):
        letters[at] = codes[position]
        at += 1
    return at, begun, at


@compiled()
def same(letters: Codes, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Return whether two ranges have the same letters."""
    if a_end - a != b_end - b:
        return False
    for offset in range(a_end - a):  # noqa: SIM110
        if letters[a + offset] != letters[b + offset]:
            return False
    return True


@compiled()
def starts_with(letters: Codes, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Return whether the first range begins with the second."""
    return b_end - b <= a_end - a and same(letters, a, a + b_end - b, b, b_end)


@compiled()
def is_weak(letters: Codes, start: int, end: int, kinds: Kinds) -> bool:
    """Return whether many works share a page: one character, as articles without pages have, or a number in a series.

    Such a series is "CD001234" of the Cochrane reviews, which every version of a review has.
    """
    length = end - start
    if length == 1:
        return True
    if length < 5 or length > 8 or letters[start] != np.uint32(99) or letters[start + 1] != np.uint32(100):
        return False
    for at in range(start + 2, end):  # noqa: SIM110
        if not is_digit(letters[at], kinds):
            return False
    return True
