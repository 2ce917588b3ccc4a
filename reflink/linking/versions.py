"""Other versions of a cited work: when title and authors do not suffice for a link, and how two versions are related.

A guideline appears in several journals, a review is updated, a report appears every year, a paper has a preprint, an erratum
and letters about it. Such records share title and authors with the cited work, and differ in year, volume, page or journal.
"""

from __future__ import annotations

import re
from typing import Final

from reflink.entities import Reference, VersionRelation, Work
from reflink.folding import folded_words
from reflink.verdict.evidence import Evidence, Floats
from reflink.verdict.rules import UNSEEN
from reflink.verdict.titles import marks

#: Relations of records of the same work, to which `Policy.versions` can link.
SAME_WORK: Final = frozenset(("version-of", "preprint-of", "has-preprint", "update-of", "updated-by"))

#: Minimum similarity of the titles of two versions, and share of a title within the other one or within the text: sequels and
#: other works of the same authors have a title that is only part of the other.
_SIMILAR: Final = 0.9
_WITHIN: Final = 0.95
#: Minimum letters of a title that identifies a work in a field and within a text; minimum share of authors that agree,
#: agreement of the first authors, of two venues, and of a venue with a text.
_LETTERS: Final = 20
_LETTERS_IN_TEXT: Final = 40
_AUTHORS: Final = 0.5
_FIRST: Final = 0.6
_SAME_VENUE: Final = 0.75
_SEEN: Final = 0.5
#: Minimum agreement of pages or volumes that are equal.
_EQUAL: Final = 0.5
#: Number of contradictions beside the page that exclude a link.
_CONTRADICTIONS: Final = 2

_ERRATA: Final = frozenset("erratum errata corrigendum corrigenda correction corrections addendum".split())
_COMMENTS: Final = frozenset("reply replies comment comments commentary response rebuttal editorial letter rejoinder".split())
#: DOIs of letters that have the title of the paper that they discuss.
_LETTER: Final = re.compile(r"/nejmc|-c\d{1,2}$")
_PREPRINTS: Final = frozenset(("biorxiv", "medrxiv", "arxiv", "chemrxiv", "psyarxiv", "preprint", "preprints", "ssrn"))


def is_contradicted(reference: Reference, work: Work, row: Floats) -> bool:
    """Return whether the work is another version than the cited one, however well title and authors agree.

    ``row``: the pair's evidence. True if the page differs and two of year, volume and journal differ too; a difference within
    one journal counts only if the author lists differ, since a paper may be cited before it is printed. For fields that only a
    text can have: true if it has neither page nor volume nor journal of the work. False for a work with an identifier of the
    reference.
    """
    found = Evidence(*row.tolist())
    if found.identifier == 1 or not found.page <= UNSEEN:
        return False
    if found.page == UNSEEN:
        return found.volume <= UNSEEN and found.venue < _SEEN
    differ = (found.year >= 1, found.volume == 0, found.venue < _SAME_VENUE)
    if sum(differ) < _CONTRADICTIONS:
        return False
    same_authors = found.authors == 1 and len(reference.last_names) == len(work.authors)
    return not (found.venue >= _SAME_VENUE and same_authors)


def relation(reference: Reference, work: Work, row: Floats) -> VersionRelation | None:
    """Return the relation of the work to the cited one, if it is another version of it or about it; None for another work.

    ``row``: the pair's evidence. Titles and authors must agree, and at least one of year, volume, page, journal, numbers and
    kind of work must differ.
    """
    found = Evidence(*row.tolist())
    if found.length < _LETTERS:
        return None
    if found.marks == 1 and (found.cover >= _WITHIN or found.contained >= _WITHIN) and (by_mark := _by_mark(reference, work)):
        return by_mark
    if not _has_same_title(found) or not _has_same_authors(found):
        return None
    if found.title_year == 0 or found.numbers >= 1:
        return "instalment-of"
    if not (found.page < _EQUAL or found.volume < _EQUAL or found.year >= 1 or found.venue < _SAME_VENUE):
        return None
    if _LETTER.search(work.ids.doi or ""):
        return "comments-on"
    preprint = found.deposit == 1 or _is_preprint(work.venue, work)
    published = _is_preprint(reference.venue or reference.raw_query)
    if preprint != published:
        return "preprint-of" if preprint else "has-preprint"
    if found.page >= _EQUAL and found.year >= 1 and not found.venue < _SAME_VENUE and reference.year and work.year:
        return "update-of" if work.year > reference.year else "updated-by"
    return "version-of"


def _has_same_title(found: Evidence) -> bool:
    if found.title == found.title:
        return found.title >= _SIMILAR
    return found.length >= _LETTERS_IN_TEXT and found.contained >= _WITHIN


def _has_same_authors(found: Evidence) -> bool:
    """Return whether authors agree; missing names agree if one of the records names a group."""
    if found.authors != found.authors:
        return found.group == 1
    return found.authors >= _AUTHORS and (found.first_author >= _FIRST or found.group == 1)


def _by_mark(reference: Reference, work: Work) -> VersionRelation | None:
    """Return the relation that the marks of the two titles show (reflink.verdict.titles)."""
    cited, other = reference.title or "", work.title or ""
    ours, theirs = (marks(title, folded_words(title)) for title in (cited, other))
    for words, works_own, references_own in (
        (_ERRATA, "corrects", "corrected-by"),
        (_COMMENTS | {"place"}, "comments-on", "commented-by"),
    ):
        if bool(words & theirs) != bool(words & ours):
            found: VersionRelation = works_own if words & theirs else references_own  # type: ignore[assignment]
            return found
    return None


def _is_preprint(venue: str | None, work: Work | None = None) -> bool:
    """Return whether a venue or a citation names a server of preprints, or the work has an arXiv id and no volume."""
    if work is not None and work.ids.arxiv and not work.volume:
        return True
    return venue is not None and not _PREPRINTS.isdisjoint(folded_words(venue))
