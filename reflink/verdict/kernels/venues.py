"""Similarity of two venues: the share of the longer name's words that the other has in order, abbreviated or not.

A word abbreviates another if its letters occur there in order and the first letters are the same ("natl", "national"). A name
agrees fully with its acronym.

A citation without a tagged venue is searched for consecutive words that abbreviate the first words of the work's venue.
"""

from __future__ import annotations

import math

from reflink.compiled import compiled
from reflink.verdict.kernels.keys import same, starts_with
from reflink.verdict.kernels.vocabulary import Codes, Ints
from reflink.verdict.kernels.wording import STOP_WORD
from reflink.verdict.rules import HALF_VENUE, SHORT_VENUE, SHORT_WORD


@compiled()
def _abbreviates(letters: Codes, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Return whether both words have the same first letter and one contains the letters of the other in order."""
    if letters[a] != letters[b]:
        return False
    if a_end - a > b_end - b:
        a, a_end, b, b_end = b, b_end, a, a_end
    while a < a_end and a_end - a <= b_end - b:
        a += letters[a] == letters[b]
        b += 1
    return a == a_end


@compiled()
def _is_acronym(letters: Codes, spans: Ints, word: int, first: int, last: int) -> bool:
    """Return whether a word of at least three letters consists of the first letters of several consecutive words."""
    start, end = spans[word]
    if end - start <= 2 or last - first < 2 or end - start > last - first:
        return False
    for at in range(end - start):  # noqa: SIM110
        if letters[start + at] != letters[spans[first + at, 0]]:
            return False
    return True


@compiled()
def venue_similarity(letters: Codes, spans: Ints, x: int, x_end: int, y: int, y_end: int, row: Ints) -> float:
    """Return the share of the longer name's words that the other has in order; 1 for its acronym; NaN if a name has no words.

    ``row``: scratch space of at least ``y_end - y + 1`` elements.
    """
    if x == x_end or y == y_end:
        return math.nan
    if x_end - x == 1 and _is_acronym(letters, spans, x, y, y_end):
        return 1.0
    if y_end - y == 1 and _is_acronym(letters, spans, y, x, x_end):
        return 1.0
    row[: y_end - y + 1] = 0
    for word in range(x, x_end):
        diagonal = 0
        for j in range(1, y_end - y + 1):
            other = y + j - 1
            if _abbreviates(letters, spans[word, 0], spans[word, 1], spans[other, 0], spans[other, 1]):
                best = diagonal + 1
            else:
                best = max(row[j], row[j - 1])
            diagonal, row[j] = row[j], max(best, row[j - 1])
    share: float = row[y_end - y] / max(x_end - x, y_end - y)
    return share


@compiled()
def _next(begins: Ints, word: int, last: int) -> int:
    """Return the next word of a citation after ``word`` that is not a stop word; ``last`` if there is none."""
    word += 1
    while word < last and begins[word, 1] & STOP_WORD:
        word += 1
    return word


@compiled()
def _before_number(letters: Codes, begins: Ints, word: int, last: int) -> bool:
    """Return whether a citation ends at ``word``, or goes on with a number there or after one more word."""
    for at in range(word, min(word + 2, last)):
        if 48 <= letters[begins[at, 0]] <= 57:
            return True
    return word >= last


@compiled()
def _one_word(letters: Codes, begins: Ints, word: int, last: int, end: int, start: int, stop: int) -> bool:
    """Return whether a citation names a venue of one word, letters ``start`` to ``stop``, at ``word``, and a number follows.

    The word may be shortened ("Bioinform"), or its letters begin consecutive words ("J Am Med Assoc" for "JAMA").
    """
    begun = begins[word, 0]
    ends = begins[word + 1, 0] if word + 1 < last else end
    short = min(ends - begun, stop - start)
    if (
        same(letters, begun, ends, start, stop)
        or (short >= SHORT_VENUE and starts_with(letters, start, stop, begun, ends))
        or (short >= SHORT_VENUE and starts_with(letters, begun, ends, start, stop))
    ):
        return bool(_before_number(letters, begins, word + 1, last))
    if stop - start < SHORT_WORD:
        return False
    at = word
    for position in range(start, stop):
        if at >= last or letters[begins[at, 0]] != letters[position]:
            return False
        at = _next(begins, at, last)
    return bool(_before_number(letters, begins, at, last))


@compiled()
def venue_in_text(letters: Codes, begins: Ints, word: int, last: int, end: int, spans: Ints, y: int, y_end: int) -> float:
    """Return the share of a venue's words that a citation has consecutively, abbreviated or not; 0 below ``HALF_VENUE``.

    ``word`` to ``last``: the citation's words; ``end``: the end of its letters. ``y`` to ``y_end``: the venue's words. A venue
    of several words needs two words in the citation, one of at least ``SHORT_WORD`` letters, or its acronym.
    """
    if y == y_end:
        return math.nan
    first, best = letters[spans[y, 0]], 0
    for at in range(word, last):
        if letters[begins[at, 0]] != first:
            continue
        if y_end - y == 1:
            if _one_word(letters, begins, at, last, end, spans[y, 0], spans[y, 1]):
                return 1.0
            continue
        stop = begins[at + 1, 0] if at + 1 < last else end
        length = stop - begins[at, 0]
        if length > 2 and length <= y_end - y and (length == y_end - y or length >= SHORT_VENUE):
            matched = 0
            while matched < length and letters[begins[at, 0] + matched] == letters[spans[y + matched, 0]]:
                matched += 1
            if matched == length:
                return 1.0
        matched, longest, other = 0, 0, at
        while matched < y_end - y and other < last:
            stop = begins[other + 1, 0] if other + 1 < last else end
            if not _abbreviates(letters, begins[other, 0], stop, spans[y + matched, 0], spans[y + matched, 1]):
                break
            longest = max(longest, stop - begins[other, 0])
            matched += 1
            other = _next(begins, other, last)
        if matched > 1 and longest >= SHORT_WORD:
            best = max(best, matched)
    share = best / (y_end - y)
    return share if share >= HALF_VENUE else 0.0
