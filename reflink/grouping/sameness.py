"""The probability that two records of works are records of one article, without a common identifier.

The verdict compares them twice, each as the reference once. It was trained on citations, which are less exact than records of
works, so some differences that it forgives keep records apart:

1. A record without a title is not compared. A short title needs authors and page that agree; without pages, two authors, the
   year and all letters of the title.
2. A preprint and a published work, a book and its chapter, a notice and another work are not one article.
3. Two identifiers of one kind that differ are no proof of two articles: PubMed has the Spanish and the English edition of an
   article under two PMIDs. But then titles and pages must agree, and volume, year and all authors must not differ, as they do
   in two letters on one page; notices are not joined. Versions of a DOI ("….1" and "….2" of F1000, "…/v1") do not differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from reflink.entities import ID_KINDS, Work
from reflink.grouping.comparing import compared
from reflink.grouping.keys import MAX_TITLES
from reflink.grouping.kinds import are_versions, are_whole_and_part, is_deposit, is_notice
from reflink.verdict.evidence import COLUMN, Floats
from reflink.verdict.judge import Judge, shipped

#: Letters of a title below which it is short, and of one like "Editorial" or "Book reviews".
_SHORT: Final = 20
_GENERIC: Final = 12
_YEARS: Final = 2
_AUTHORS: Final = 0.5
_TWO: Final = 1.8
_EQUAL: Final = 0.5
_OTHER: Final = 0.5
_WITHIN: Final = 0.7
#: The number of a version at the end of a DOI.
_VERSION: Final = re.compile(r"(?<=^10\.12688/)(.+)\.\d{1,2}$|[./-]?v\d{1,2}$")
Pair = tuple[Work, Work]


@dataclass(frozen=True, slots=True)
class Sameness:
    """Judges pairs of records. ``model``: the verdict's; None for the shipped one."""

    model: Judge | None = None
    join_preprints: bool = False

    def probabilities(self, pairs: Sequence[Pair]) -> list[float]:
        """Return for each pair the probability in [0, 1] that the records are one article; equal for (a, b) and (b, a)."""
        found = [0.0] * len(pairs)
        variants: list[Pair] = []
        origins: list[int] = []
        for at, (a, b) in enumerate(pairs):
            if not self._differ(a, b):
                titled = _titled(a, b)
                variants += titled
                origins += [at] * len(titled)
        if variants:
            for at, probability in zip(origins, self._judged(variants), strict=True):
                found[at] = max(found[at], probability)
        return found

    def _differ(self, a: Work, b: Work) -> bool:
        """Return whether the kinds of the two works exclude that they are one article."""
        if not a.title or not b.title or is_notice(a) != is_notice(b) or are_whole_and_part(a, b):
            return True
        if not self.join_preprints and (are_versions(a, b) or is_deposit(a) != is_deposit(b)):
            return True
        return is_notice(a) and other_identifiers(a, b)

    def _judged(self, pairs: Sequence[Pair]) -> list[float]:
        model = self.model or shipped()
        one = compared(pairs)
        other = compared([(b, a) for a, b in pairs])
        found = (model.probabilities(one) + model.probabilities(other)) / 2
        # A preprint has no page of its own.
        apart = np.array([other_identifiers(a, b) and is_deposit(a) == is_deposit(b) for a, b in pairs], np.bool_)
        # One page may be misprinted in a record, the first and the last page hardly are.
        ends = np.array([bool(a.lpage and b.lpage) and a.lpage != b.lpage for a, b in pairs], np.bool_)
        found[apart & ends & ((one[:, COLUMN["page"]] < 1) | (other[:, COLUMN["page"]] < 1))] = 0.0
        found[_is_refused(one, apart) | _is_refused(other, apart)] = 0.0
        return [float(each) for each in found]


def other_identifiers(a: Work, b: Work) -> bool:
    """Return whether both works have an identifier of one kind, and it differs in more than its version."""
    return any(
        x != y and (kind != "doi" or _unversioned(x) != _unversioned(y))
        for kind in ID_KINDS
        if (x := getattr(a.ids, kind)) and (y := getattr(b.ids, kind))
    )


def _unversioned(doi: str) -> str:
    return _VERSION.sub(r"\1", doi)


def _is_refused(rows: Floats, apart: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    page, volume, year, authors = (rows[:, COLUMN[name]] for name in ("page", "volume", "year", "authors"))
    placed = (page == 1) & (authors >= _AUTHORS)
    unplaced = (
        (rows[:, COLUMN["length"]] >= _GENERIC)
        & np.isnan(page)
        & (rows[:, COLUMN["agreeing"]] >= _TWO)
        & (year == 0)
        & (rows[:, COLUMN["equal"]] == 1)
    )
    short = (rows[:, COLUMN["length"]] < _SHORT) & ~placed & ~unplaced
    other = (rows[:, COLUMN["title"]] < _OTHER) & (rows[:, COLUMN["cover"]] < _WITHIN)
    return np.asarray(short | (apart & (other | ~(page >= _EQUAL) | (volume == 0) | (year >= _YEARS) | (authors == 0))))


def _titled(a: Work, b: Work) -> list[Pair]:
    """Return the pair, with each title of the one and of the other record as its title."""
    if not a.translated_titles and not b.translated_titles:
        return [(a, b)]
    return [(x, y) for x in _under_each_title(a) for y in _under_each_title(b)]


def _under_each_title(work: Work) -> list[Work]:
    others = work.translated_titles[:MAX_TITLES]
    return [work, *(Work.made({**work.__dict__, "title": title}) for title in others)]
