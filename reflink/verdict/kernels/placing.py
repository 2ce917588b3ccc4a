"""Comparison of the years, volumes and pages of a pair.

A volume or page that the reference does not tag is searched in its text, and agrees by ``UNSEEN`` if it is not there. A single
digit occurs in any text, so it counts only where the volume precedes the page, with at most an issue between ("33 (4): 9").
Tagged volumes agree by ``CUT`` if one is the other without digits at its beginning or end. Tagged pages agree if they are equal
but for a letter that one of them lacks ("S12", "12"), only by ``WEAK`` if many works have that page, and by ``NEAR`` if they
differ by one slip. Page 1 of a citation says nothing in a journal with long page numbers: many publishers write "1-12" for an
article number. The article number at the end of a work's DOI is another page of the work.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from reflink.compiled import compiled
from reflink.verdict.kernels.keys import is_weak, same, starts_with
from reflink.verdict.kernels.numerals import Kinds
from reflink.verdict.kernels.people import slips
from reflink.verdict.kernels.vocabulary import SEED, Hashes, Ints, added, finished, has, hashed
from reflink.verdict.rules import CUT, LONG_PAGE, NEAR, UNSEEN, WEAK

_SILENT: Final = math.nan


@compiled()
def within(part: Hashes, start: int, end: int, whole: Hashes, whole_start: int, whole_end: int) -> bool:
    """Return whether every number of ``part[start:end]`` is in ``whole[whole_start:whole_end]``. Meant for a few numbers."""
    for at in range(start, end):
        found = False
        for other in range(whole_start, whole_end):
            if part[at] == whole[other]:
                found = True
                break
        if not found:
            return False
    return True


@compiled()
def _overlap(years: Ints, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Return whether two lists of years have a year in common."""
    for at in range(a, a_end):
        for other in range(b, b_end):
            if years[at] == years[other]:
                return True
    return False


@compiled()
def several(years: Ints, start: int, end: int) -> bool:
    """Return whether a list has two different years."""
    for at in range(start + 1, end):  # noqa: SIM110
        if years[at] != years[start]:
            return True
    return False


@compiled()
def _has_year(years: Ints, tagged: float, record: Any, year: float) -> bool:
    """Return whether ``year`` is the record's tagged year or, if it has no tagged year, a year in its text."""
    if not math.isnan(tagged):
        return bool(tagged == year)
    for at in range(record.years_end, record.raw_years_end):  # noqa: SIM110
        if years[at] == year:
            return True
    return False


@compiled()
def distance(years: Ints, tagged: float, reference: Any, published: float, work: Any) -> float:
    """Return the years between the work's year, ``published``, and the nearest year of the reference; NaN if it has none.

    The year of an untagged reference is the nearest in its text. The years of the work's title do not count once each, unless
    the text has no others: "2017 update of the 2013 guideline … 2017" does not date from 2013.
    """
    if not math.isnan(tagged):
        return abs(tagged - published)
    least, least_named = _SILENT, _SILENT
    for at in range(reference.years_end, reference.raw_years_end):
        difference = abs(years[at] - published)
        named = _overlap(years, at, at + 1, work.years, work.years_end) and not _overlap(
            years, at, at + 1, reference.years_end, at
        )
        if named:
            least_named = difference if math.isnan(least_named) else min(least_named, difference)
        else:
            least = difference if math.isnan(least) else min(least, difference)
    return least_named if math.isnan(least) else least


@compiled()
def title_years(years: Ints, tagged: float, reference: Any, published: float, work: Any) -> float:
    """Return 1 if the years in two titles name the same instalment of a series, 0 if not, NaN if they do not decide it.

    If only one title has years, the years of publication decide: a citation of "Cancer statistics" of 2017 does not mean
    "Cancer statistics, 2016", but "SPIRIT 2013" of 2013 may be cited without its number. Several years ("from 2009 to 2014")
    are those of the data, so they do not distinguish instalments.
    """
    a, a_end, b, b_end = reference.years, reference.years_end, work.years, work.years_end
    if a == a_end and b == b_end:
        return _SILENT
    if a < a_end and b < b_end:
        if within(years, a, a_end, years, b, b_end) and within(years, b, b_end, years, a, a_end):
            return 1.0
        return _SILENT if _overlap(years, a, a_end, b, b_end) else 0.0
    if a < a_end:  # only the reference's title contains years
        if math.isnan(published):
            return _SILENT
        other_named = False
        for at in range(a, a_end):
            other_named |= years[at] == published
        if other_named:
            return 1.0
        has_year = not math.isnan(tagged) or reference.raw_years_end > reference.years_end
        other = has_year and not several(years, a, a_end) and not _has_year(years, tagged, reference, published)
        return 0.0 if other else _SILENT
    # Only the work's title contains years. The reference has one tagged year, or any number of years from its text.
    some, all_named, any_named, distinct, one = False, True, False, 0, np.int64(0)
    if not math.isnan(tagged):
        some, distinct, all_named = True, 1, False
        for at in range(b, b_end):
            all_named |= years[at] == tagged
        any_named = all_named
    else:
        for at in range(reference.years_end, reference.raw_years_end):
            year, named = years[at], False
            for other in range(b, b_end):
                named |= years[other] == year
            any_named |= named
            all_named &= named
            if not some or year != one:
                distinct += 1
            some, one = True, year
    if some and distinct == 1 and all_named:
        return 1.0
    other = some and not any_named and not math.isnan(published) and not several(years, b, b_end)
    return 0.0 if other and not _has_year(years, tagged, reference, published) else _SILENT


@compiled()
def year_word(year: int) -> np.uint64:
    """Return the hash of a year's four digits."""
    value, power = SEED, 1000
    while power:
        value = added(value, 48 + year // power % 10)
        power //= 10
    return finished(value)  # type: ignore[no-any-return]


@compiled()
def _side_by_side(words: Hashes, reference: Any, volume: np.uint64, page: np.uint64) -> bool:
    """Return whether the citation has the volume and, at most one word later, the page."""
    end = reference.words_end
    for at in range(reference.words, end):
        if words[at, 0] == volume or words[at, 1] == volume:  # "71", or "C71" in the section of a journal
            for other in range(at + 1, min(at + 3, end)):
                if words[other, 0] == page or words[other, 1] == page:
                    return True
    return False


@compiled()
def _number(letters: Any, start: int, end: int) -> int:
    """Return the start of a page's number, after its letters."""
    while start < end and 97 <= letters[start] <= 122:
        start += 1
    return start


@compiled()
def settle_unseen(
    letters: Any, numbers: Hashes, years: Ints, reference: Any, work: Any, volume: float, page: float
) -> tuple[float, float]:
    """Return the agreement of a volume and a page of which one is ``UNSEEN``, by the other numbers of the citation.

    Years and the numbers in the work's title do not count. A citation without another number says nothing about volume and
    page. A citation whose only other number is the work's volume says nothing about the page.
    """
    only_volume, volume_hash = False, hashed(letters, work.volume, work.volume_end)
    for at in range(reference.numbers_end, reference.raw_digits_end):
        found = False
        for other in range(work.numbers, work.numbers_end):
            found |= numbers[at] == numbers[other]
        for year in range(reference.years_end, reference.raw_years_end):
            found |= numbers[at] == year_word(years[year])
        if not found and numbers[at] != volume_hash:
            return volume, page
        only_volume |= not found
    if volume == UNSEEN:
        volume = 1.0 if only_volume else _SILENT
    return volume, _SILENT if page == UNSEEN else page


@compiled()
def place(
    letters: Any, hashes: Hashes, reference: Any, work: Any, kinds: Kinds, words: Hashes, shift: int, band: Ints
) -> tuple[float, float]:
    """Return the agreement of volume and of page.

    ``words``, ``shift``: the hash table of the citation's words. ``band``: scratch space of `people.slips`.
    """
    v, v_end, p, p_end = work.volume, work.volume_end, work.page, work.page_end
    d, d_end = work.article, work.article_end
    has_words = reference.words_end > reference.words
    volume, page, beside = _SILENT, _SILENT, False
    if has_words and (
        (v_end > v and reference.volume == reference.volume_end) or (p_end > p and reference.page == reference.page_end)
    ):
        volume_hash, page_hash = hashed(letters, v, v_end), hashed(letters, p, p_end)
        digits = _number(letters, p, p_end)
        digits_hash = hashed(letters, digits, p_end)
        if v_end > v and p_end > p:
            beside = _side_by_side(hashes, reference, volume_hash, page_hash) or (
                p < digits < p_end and _side_by_side(hashes, reference, volume_hash, digits_hash)
            )
        if v_end > v and not beside and d_end - d > 1:
            beside = _side_by_side(hashes, reference, volume_hash, hashed(letters, d, d_end))
        if v_end > v:
            volume = 1.0 if beside or (v_end - v > 1 and has(words, shift, volume_hash)) else UNSEEN
        if p_end > p:
            page = 1.0 if beside or (p_end - p > 1 and has(words, shift, page_hash)) else UNSEEN
            if page == UNSEEN and p < digits <= p_end - LONG_PAGE and has(words, shift, digits_hash):
                page = 1.0
    a, a_end = reference.volume, reference.volume_end
    if v_end > v and a_end > a:
        if same(letters, a, a_end, v, v_end):
            volume = 1.0
        else:
            if a_end - a < v_end - v:
                a, a_end, v, v_end = v, v_end, a, a_end
            ends = a_end - a >= v_end - v and same(letters, a_end - (v_end - v), a_end, v, v_end)
            volume = CUT if ends or starts_with(letters, a, a_end, v, v_end) else 0.0
    a, a_end = reference.page, reference.page_end
    if p_end > p and a_end > a:
        page = _pages(letters, a, a_end, p, p_end, kinds, band)
    if d_end - d > 1 and (not page > UNSEEN or page == NEAR):
        if a_end > a:
            if same(letters, _number(letters, a, a_end), a_end, d, d_end):
                page = 1.0
        elif has_words and (beside or d_end - d >= LONG_PAGE) and has(words, shift, hashed(letters, d, d_end)):
            page = 1.0
    return volume, page


@compiled()
def _pages(letters: Any, a: int, a_end: int, b: int, b_end: int, kinds: Kinds, band: Ints) -> float:
    if same(letters, a, a_end, b, b_end):
        return WEAK if is_weak(letters, b, b_end, kinds) else 1.0
    x, y = _number(letters, a, a_end), _number(letters, b, b_end)
    if x < a_end and same(letters, x, a_end, y, b_end) and (x == a or y == b):
        return WEAK if is_weak(letters, x, a_end, kinds) else 1.0
    short, long = min(a_end - a, b_end - b), max(a_end - a, b_end - b)
    if short == 1 and long >= LONG_PAGE and letters[a if a_end - a == 1 else b] == 49:
        return _SILENT
    if long - short > 1 or is_weak(letters, a, a_end, kinds) or is_weak(letters, b, b_end, kinds):
        return 0.0
    if min(a_end - x, b_end - y) < LONG_PAGE or not same(letters, a, x, b, y):
        return 0.0
    return NEAR if slips(letters, x, a_end, y, b_end, 1, band) else 0.0
