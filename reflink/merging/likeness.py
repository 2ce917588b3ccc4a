"""Decide whether records with a common identifier are of different works.

The identifier is strong evidence that they are one work. They are unlike only if they contradict each other in several fields,
or if one is about the other or a part of it: an erratum and its article, a chapter and its book, a preprint and the published
article.
"""

from __future__ import annotations

from typing import Final

from reflink.entities import Work
from reflink.folding import compact
from reflink.grouping.comparing import evidence_of
from reflink.grouping.kinds import are_versions, are_whole_and_part, is_notice
from reflink.grouping.sameness import other_identifiers
from reflink.verdict.evidence import Evidence
from reflink.verdict.rules import TITLE_LIMIT

PREPRINT: Final = "a preprint and a published work"
NOTICE: Final = "a notice, such as an erratum, and another work"
PART: Final = "a book and a part of it"
TITLES: Final = "other titles and other fields"
EDITION: Final = "one title, other fields"
NUMBERS: Final = "other numbers in the titles"
IDENTIFIERS: Final = "other identifiers, and not the same title"

#: Minimum letters of a title that identifies a work.
_SPECIFIC: Final = 20
#: Similarity of titles below which they are other titles, and below which they need support by other fields; share of a title
#: within the other one, and similarity, from which on they are the same.
_OTHER: Final = 0.5
_SIMILAR: Final = 0.7
_WITHIN: Final = 0.9
_SAME: Final = 0.9
#: Share of authors that agree, difference of years that counts, and agreement of pages that are equal.
_AUTHORS: Final = 0.5
_YEARS: Final = 2
_EQUAL: Final = 0.5
#: Number of contradictions that make records of one title unlike: with a title that identifies a work, and with another title.
_CONTRADICTIONS: Final = 3
_SHORT_CONTRADICTIONS: Final = 2


def unlike(a: Work, b: Work, *, joined: bool = True, join_preprints: bool = False) -> str | None:
    """Return why two records are of different works; None if nothing contradicts that they are one work.

    ``joined``: they share an identifier. Otherwise two identifiers of one kind that differ require the same title. Symmetrical.
    """
    if not join_preprints and are_versions(a, b):
        return PREPRINT
    if are_whole_and_part(a, b):
        return PART
    if a.title and b.title and is_notice(a) != is_notice(b):
        return NOTICE
    if _plainly_alike(a, b):
        return None
    reasons = [_contradicted(a, b, evidence_of(*pair)) for pair in ((a, b), (b, a))]
    if all(reasons):
        return min(filter(None, reasons))
    if not joined and other_identifiers(a, b) and not _has_same_title(a, b):
        return IDENTIFIERS
    return None


def _plainly_alike(a: Work, b: Work) -> bool:
    """Return whether title, first author and year agree: the quick answer for most records with a common identifier."""
    if a.year is None or b.year is None or abs(a.year - b.year) >= _YEARS:
        return False
    title = compact((a.title or "")[:TITLE_LIMIT])
    if len(title) < _SPECIFIC or title != compact((b.title or "")[:TITLE_LIMIT]):
        return False
    return not (a.authors and b.authors) or compact(a.authors[0]) == compact(b.authors[0])


def _contradicted(a: Work, b: Work, found: Evidence) -> str | None:
    years = _years_between(a, b)
    contradictions = sum((found.authors == 0, years >= _YEARS, found.volume == 0, found.page == 0))
    # Two abstracts on one page have one locator.
    supported = found.authors >= _AUTHORS or (found.authors != found.authors and found.volume == 1 and found.page >= _EQUAL)
    if found.title < _SIMILAR and found.cover < _WITHIN and not _translated(a, b):
        if found.title >= _OTHER and not contradictions:
            return None
        return None if supported and found.page != 0 and years < _YEARS else TITLES
    if (found.numbers == 2 or found.title_year == 0) and not found.page >= _EQUAL:
        return NUMBERS
    specific = found.title == found.title and found.length >= _SPECIFIC
    return EDITION if contradictions >= (_CONTRADICTIONS if specific else _SHORT_CONTRADICTIONS) else None


def _translated(a: Work, b: Work) -> bool:
    """Return whether a title of one record is a title of the other one."""
    ours, theirs = ({compact(title[:TITLE_LIMIT]) for title in titles_of(work)} for work in (a, b))
    return not ours.isdisjoint(theirs)


def titles_of(work: Work) -> tuple[str, ...]:
    """Return the title and the titles in other languages."""
    return ((work.title,) if work.title else ()) + work.translated_titles


def _years_between(a: Work, b: Work) -> int:
    """Return the least number of years between the two, in print or online; 0 if one has none."""
    ours, theirs = ([year for year in (work.year, work.online_year) if year is not None] for work in (a, b))
    return min((abs(x - y) for x in ours for y in theirs), default=0)


def _has_same_title(a: Work, b: Work) -> bool:
    found = evidence_of(a, b)
    return found.equal == 1 or found.title >= _SAME or _translated(a, b)
