"""Kinds of works that share title and authors with another work and are not the same: notices, preprints, parts of books."""

from __future__ import annotations

import re
from typing import Final

from reflink.entities import Work
from reflink.verdict.rules import DEPOSITS

#: The beginning of a notice's title: "Erratum: …", "Publisher Correction: …", "Correction to: …"; not "Correction of myopia".
_NOTICE: Final = re.compile(
    r"(?:(?:author|publisher|editorial|published)?\s*(?:erratum|errata|corrigendum|corrigenda|addendum)\b"
    r"|(?:author|publisher|editorial)\s+corrections?\b|corrections?(?:\s+(?:to|for)\b|\s*[:.]|\s*$)|department of errors?\b)",
    re.IGNORECASE,
)
_PREPRINT: Final = "posted-content"
_BOOKS: Final = frozenset(("book", "monograph", "edited-book", "reference-book", "proceedings", "book-set", "book-series"))
_PARTS: Final = frozenset(("book-chapter", "book-section", "book-part", "proceedings-article", "reference-entry"))


def is_notice(work: Work) -> bool:
    """Return whether the title begins as that of an erratum or another notice about a work."""
    return work.title is not None and _NOTICE.match(work.title.lstrip(" [(")) is not None


def is_deposit(work: Work) -> bool:
    """Return whether the work is a preprint or is in a data repository, by its type, its DOI, or an arXiv id without volume."""
    if work.type == _PREPRINT or (work.ids.doi or "").startswith(DEPOSITS):
        return True
    return work.type is None and work.ids.arxiv is not None and not work.volume


def are_versions(a: Work, b: Work) -> bool:
    """Return whether one work is a preprint and the other one is published; False if the type of one is not known."""
    return bool(a.type or is_deposit(a)) and bool(b.type or is_deposit(b)) and is_deposit(a) != is_deposit(b)


def are_whole_and_part(a: Work, b: Work) -> bool:
    """Return whether one work is a book and the other one a part of a book."""
    return (a.type in _BOOKS and b.type in _PARTS) or (b.type in _BOOKS and a.type in _PARTS)
