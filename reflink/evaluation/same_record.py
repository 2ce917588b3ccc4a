"""Recognition of two records of one work, for pairs that must not train the verdict as wrong."""

from __future__ import annotations

import re
from typing import Final

from reflink.entities import Work
from reflink.folding import compact, fold
from reflink.verdict.rules import NAME_LIMIT, PARTICLES, SUFFIXES, TITLE_LIMIT, YEAR_LIMIT
from reflink.verdict.titles import ROMAN

_TRANSLITERATED: Final = re.compile("(?<=[aou])e")
_DIGITS: Final = re.compile(r"\d+")
_PAGE: Final = re.compile(r"[a-z]*\d+")


def is_same_record(a: Work, b: Work) -> bool:
    """Return whether two records describe one work without a common identifier; neither is then wrong if the other is right.

    They have the same title, year and first author, and the same volume or first page if both records have one of these.
    """
    title = _title(a)
    if not title or title != _title(b) or _year(a) != _year(b) or _first_author(a) != _first_author(b):
        return False
    places = [(x, y) for x, y in ((_volume(a), _volume(b)), (_page(a), _page(b))) if x and y]
    return not places or any(x == y for x, y in places)


def _title(work: Work) -> str:
    """Return the folded title; for a missing title the venue, which names a book if there is no volume."""
    return compact((work.title or (None if work.volume else work.venue) or "")[:TITLE_LIMIT])


def _year(work: Work) -> int | None:
    return work.year if work.year is not None and abs(work.year) < YEAR_LIMIT else None


def _first_author(work: Work) -> frozenset[str] | None:
    """Return the words that identify the name: no particles, suffixes or initials, umlaut transliterations undone."""
    if not work.authors:
        return None
    words = _TRANSLITERATED.sub("", fold(work.authors[0][:NAME_LIMIT])).split()
    return frozenset(word for word in words if len(word) > 1 and word not in PARTICLES | SUFFIXES) or frozenset(words)


def _volume(work: Work) -> str:
    """Return the number of the volume: "12" for "Vol. 12(3)" and "XII"."""
    text = fold(work.volume or "")
    number = _DIGITS.search(text)
    return (number[0].lstrip("0") or "0") if number else ROMAN.get(text, text)


def _page(work: Work) -> str:
    """Return the first page: lower case, its letters and number without leading zeros ("s12" for "S012-19")."""
    page = work.fpage or ""
    text = fold(page) if any(char.isdigit() for char in page) else fold(page).replace(" ", "")
    if not (found := _PAGE.search(text)):
        return ROMAN.get(text, text)
    letters = found[0].rstrip("0123456789")
    return letters + (found[0][len(letters) :].lstrip("0") or "0")
