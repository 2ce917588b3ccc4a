"""Agreement of authors' names, tolerant of errors by typists and scanners.

The words that identify a last name exclude particles, suffixes and initials; transliterations of umlauts are undone. Two
names agree by 1 if they share a word, by ``MISSPELT`` if they differ by one slip (two in long names), else by 0. A slip is a
letter that is dropped, added, changed, or swapped with its neighbour.

Three rules avoid most of the work of comparing names by edit distance, without changing a result:

1. Names that share a word agree without further comparison; words are compared by their hash.
2. `_allowed` rejects two words whose lengths, or sets of letters (a mask of 64 bits), need more slips than allowed.
3. `slips` computes the table of edit distances only in a band of ``_WIDTH`` columns about the diagonal, because a cell outside
   the band needs more than ``_MOST_SLIPS`` slips.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from reflink.compiled import compiled
from reflink.verdict.kernels.letters import BLANK, DROPPED, expanded
from reflink.verdict.kernels.vocabulary import NO_NAME, SEED, Codes, Hashes, Ints, added, finished, known
from reflink.verdict.rules import MISSPELT, ONE_SLIP, PARTICLES, SUFFIXES, TWO_SLIPS

_MOST_SLIPS: Final = 2
_WIDTH: Final = 2 * _MOST_SLIPS + 1
_MANY: Final = 9
#: Length of the longest particle or suffix, in letters.
_LONGEST: Final = max(map(len, PARTICLES | SUFFIXES))


@compiled(inline="always")
def name_tokens(
    codes: Codes, start: int, stop: int, folds: Ints, expansions: Ints, letters: Codes, at: int, words: Hashes, values: Ints,
    tokens: Ints, hashes: Hashes, token: int, names: Ints, name: int,
) -> tuple[int, int]:  # fmt: skip
    """Write a name's words into ``tokens`` and ``names``; return the new ends of letters and tokens.

    The first pass omits particles, suffixes and initials. If no word is left, the second pass writes all words.
    """
    begun, first = at, token
    for every in range(2):
        at = word = begun
        value, mask, last = SEED, np.int64(0), 0
        for position in range(start, stop + 1):
            fold = folds[codes[position]] if position < stop else BLANK
            here, many = expanded(fold)
            for each in range(here, here + many):
                letter = expansions[each] if fold > DROPPED else fold
                if letter != BLANK:
                    if letter != 101 or not (last == 97 or last == 111 or last == 117):  # read "ae" as "a"
                        letters[at] = letter
                        value = added(value, letter)
                        mask |= np.int64(1) << np.int64(letter & 63)
                        at += 1
                elif at > word:
                    value = finished(value)
                    kept = at - word > _LONGEST or (at - word > 1 and not known(words, values, value) & NO_NAME)
                    if (kept or every) and token == first:
                        hashes[token], tokens[token, 0], tokens[token, 1], tokens[token, 2] = value, word, at, mask
                        token += 1
                    elif kept or every:
                        token = _add(letters, tokens, hashes, first, token, value, word, at, mask)
                    value, mask, word = SEED, np.int64(0), at
                last = letter
        if token > first:
            break
    joined, mask = at, np.int64(0)
    for row in range(first, token):
        mask |= tokens[row, 2]
        if token - first > 1:
            for position in range(tokens[row, 0], tokens[row, 1]):
                letters[at] = letters[position]
                at += 1
    end = at
    if token - first == 1:
        joined, end = tokens[first, 0], tokens[first, 1]
    names[name, 0], names[name, 1], names[name, 2], names[name, 3], names[name, 4] = first, token, joined, end, mask
    return at, token


@compiled()
def _add(
    letters: Codes, tokens: Ints, hashes: Hashes, first: int, token: int, value: np.uint64, start: int, end: int, mask: int
) -> int:
    """Insert a word into a name's words in alphabetical order, unless it is there; return the new end of the tokens."""
    for row in range(first, token):
        if hashes[row] == value:
            return token
    row = token
    while row > first and _before(letters, start, end, tokens[row - 1, 0], tokens[row - 1, 1]):
        hashes[row] = hashes[row - 1]
        for column in range(3):
            tokens[row, column] = tokens[row - 1, column]
        row -= 1
    hashes[row], tokens[row, 0], tokens[row, 1], tokens[row, 2] = value, start, end, mask
    return token + 1


@compiled()
def _before(letters: Codes, a: int, a_end: int, b: int, b_end: int) -> bool:
    while a < a_end and b < b_end:
        if letters[a] != letters[b]:
            return bool(letters[a] < letters[b])
        a += 1
        b += 1
    return a == a_end and b < b_end


@compiled()
def _share_word(names: Ints, hashes: Hashes, a: int, b: int) -> bool:
    for x in range(names[a, 0], names[a, 1]):
        for y in range(names[b, 0], names[b, 1]):
            if hashes[x] == hashes[y]:
                return True
    return False


@compiled()
def _bits(mask: int) -> int:
    """Return the number of bits that are set."""
    left = np.uint64(mask)
    left = left - ((left >> np.uint64(1)) & np.uint64(0x5555555555555555))
    left = (left & np.uint64(0x3333333333333333)) + ((left >> np.uint64(2)) & np.uint64(0x3333333333333333))
    left = (left + (left >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((left * np.uint64(0x0101010101010101)) >> np.uint64(56))  # type: ignore[return-value]


@compiled()
def _allowed(a: int, b: int, mask: int) -> int:
    """Return the number of slips allowed between words of ``a`` and ``b`` letters; 0 if the words certainly need more slips.

    ``mask``: bits of the letters that only one of the words has.
    """
    short = min(a, b)
    allowed = int(short >= ONE_SLIP) + int(short >= TWO_SLIPS)
    # One slip adds at most one letter and removes at most one, so it changes at most two bits of the mask.
    return allowed if abs(a - b) <= allowed and _bits(mask) <= 2 * allowed else 0


@compiled()
def _misspelt(letters: Codes, names: Ints, tokens: Ints, a: int, b: int, band: Ints) -> bool:
    """Return whether two names that share no word differ by the allowed slips only, joined or in any two of their words."""
    long_a, long_b = names[a, 3] - names[a, 2], names[b, 3] - names[b, 2]
    allowed = _allowed(long_a, long_b, names[a, 4] ^ names[b, 4])
    if allowed and slips(letters, names[a, 2], names[a, 3], names[b, 2], names[b, 3], allowed, band):
        return True
    if names[a, 1] - names[a, 0] < 2 and names[b, 1] - names[b, 0] < 2:
        return False
    for x in range(names[a, 0], names[a, 1]):
        for y in range(names[b, 0], names[b, 1]):
            allowed = _allowed(tokens[x, 1] - tokens[x, 0], tokens[y, 1] - tokens[y, 0], tokens[x, 2] ^ tokens[y, 2])
            if allowed and slips(letters, tokens[x, 0], tokens[x, 1], tokens[y, 0], tokens[y, 1], allowed, band):
                return True
    return False


@compiled()
def slips(letters: Codes, x: int, x_end: int, y: int, y_end: int, allowed: int, band: Ints) -> bool:
    """Return whether two words differ by at most ``allowed`` slips; their lengths differ by at most ``allowed``.

    ``band`` [3, _WIDTH + 2]: the last three rows of its table; column k of row i is the table's column i + k - 1 - _MOST_SLIPS.
    """
    long = y_end - y
    band[:, :] = _MANY
    for k in range(_WIDTH):
        if k >= _MOST_SLIPS:
            band[0, k + 1] = k - _MOST_SLIPS
    for i in range(1, x_end - x + 1):
        row, above, two_above = band[i % 3], band[(i - 1) % 3], band[(i - 2) % 3]
        a, least = letters[x + i - 1], _MANY
        for k in range(_WIDTH):
            j = i + k - _MOST_SLIPS
            if j < 0 or j > long:
                row[k + 1] = _MANY
                continue
            if j == 0:
                row[k + 1] = i
                continue
            b = letters[y + j - 1]
            best = min(above[k + 1] + (a != b), above[k + 2] + 1, row[k] + 1)
            if i > 1 and j > 1 and a == letters[y + j - 2] and b == letters[x + i - 2]:
                best = min(best, two_above[k + 1] + 1)
            row[k + 1] = min(best, _MANY)
            least = min(least, row[k + 1])
        if i > _MOST_SLIPS and least > allowed + 1:
            return False
    k = long - (x_end - x) + _MOST_SLIPS
    return bool(band[(x_end - x) % 3, k + 1] <= allowed)


@compiled()
def authors(
    letters: Codes, names: Ints, tokens: Ints, hashes: Hashes, a: int, a_end: int, b: int, b_end: int, band: Ints
) -> tuple[float, float, float, float]:
    """Return how many names of the shorter list agree with the longer, their share of the shorter list, and the agreement of
    the two first names and of the two second names (NaN if a list has one name). A misspelt name counts MISSPELT instead of 1.
    """
    shorter, shorter_end, longer, longer_end = a, a_end, b, b_end
    if longer_end - longer < shorter_end - shorter:
        shorter, shorter_end, longer, longer_end = longer, longer_end, shorter, shorter_end
    # The words of all names of a list are consecutive.
    first, last = names[longer, 0], names[longer_end - 1, 1]
    agreeing = 0.0
    for name in range(shorter, shorter_end):
        best = 0.0
        for word in range(names[name, 0], names[name, 1]):
            value = hashes[word]
            for other in range(first, last):
                if hashes[other] == value:
                    best = 1.0
        size, several = names[name, 3] - names[name, 2], names[name, 1] - names[name, 0] > 1
        if best == 0.0 and size >= ONE_SLIP:
            for other in range(longer, longer_end):
                # Most pairs of names are single words with different letters: reject them without a call.
                likely = several or names[other, 1] - names[other, 0] > 1
                if not likely:
                    likely = _allowed(size, names[other, 3] - names[other, 2], names[name, 4] ^ names[other, 4]) > 0
                if likely and _misspelt(letters, names, tokens, name, other, band):
                    best = MISSPELT
                    break
        agreeing += best
    first_agrees = _agreement(letters, names, tokens, hashes, a, b, band)
    second_agrees = math.nan
    if shorter_end - shorter > 1:
        second_agrees = _agreement(letters, names, tokens, hashes, a + 1, b + 1, band)
    return agreeing, agreeing / (shorter_end - shorter), first_agrees, second_agrees


@compiled()
def _agreement(letters: Codes, names: Ints, tokens: Ints, hashes: Hashes, a: int, b: int, band: Ints) -> float:
    """Return the agreement of two names: 1, MISSPELT or 0."""
    if _share_word(names, hashes, a, b):
        return 1.0
    return MISSPELT if _misspelt(letters, names, tokens, a, b, band) else 0.0
