"""A verdict in words: short phrases for and against, the strongest contribution first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reflink.verdict.evidence import FEATURES, Evidence

#: Phrases given, and the log-odds below which a subject is not worth a phrase.
_MOST: Final = 4
_LEAST: Final = 0.25

_SUBJECTS: Final = {
    "title": "title", "title_close": "title", "title_extended": "title", "title_missing": "title",
    "title_short": "title", "contained": "title",
    "contained_untitled": "title", "authors": "authors", "authors_none": "authors", "first_author": "authors",
    "first_author_differs": "authors", "year": "year", "year_near": "year", "year_far": "year", "volume": "volume",
    "volume_differs": "volume", "page": "page", "page_differs": "page", "place": "page", "place_differs": "page",
    "edition_differs": "page", "venue": "venue", "venue_differs": "venue", "numbers_one": "numbers",
    "numbers_both": "numbers", "marks": "marks", "identifier": "identifier",
}  # fmt: skip


def _title(e: Evidence) -> str | None:
    if e.title is None:
        if not e.contained:
            return None
        return "title found in the text" if e.contained >= 0.9 else "title not found in the text"
    kind = (
        "matches but for a subtitle"
        if e.extended
        else "matches"
        if e.title >= 0.9
        else "is similar"
        if e.title >= 0.6
        else "differs"
    )
    return f"{'short ' if e.short > 0.5 else ''}title {kind}"


def _authors(e: Evidence) -> str | None:
    if e.authors is None:
        return None
    if e.authors == 0:
        return "no author in common"
    if not e.first_author:
        return "first author differs"
    return "authors match" if e.authors >= 0.75 else "first author matches, others differ"


def _place(name: str, agrees: bool | None, e: Evidence) -> str | None:
    if agrees is None:
        return None
    return f"{name} matches" if agrees else f"{name} differs{_values(name, e)}"


def _values(name: str, e: Evidence) -> str:
    return next((f" ({reference} / {work})" for key, reference, work in e.shown if key == name), "")


def _phrase(subject: str, e: Evidence) -> str | None:
    match subject:
        case "title":
            return _title(e)
        case "authors":
            return _authors(e)
        case "year" if e.year is not None:
            how = "matches" if e.year == 0 else "off by one" if abs(e.year) == 1 else "differs"
            return f"year {how}" + (_values("year", e) if e.year else "")
        case "volume":
            return _place("volume", e.volume, e)
        case "page":
            return _place("page", e.page, e)
        case "venue" if e.venue is not None:
            return "venue matches" if e.venue >= 0.5 else "venue differs"
        case "numbers" if e.numbers:
            return "numbers in the titles differ"
        case "marks" if e.marks:
            return "one is an erratum, reply or comment"
        case "identifier" if e.identifier is not None:
            return "identifier matches" if e.identifier else "identifier differs"
        case _:
            return None


#: The subject of each of FEATURES, as a position in ``_NAMES``.
_NAMES: Final = sorted({*_SUBJECTS.values()})
_SUBJECT: Final = tuple(_NAMES.index(_SUBJECTS[name]) for name in FEATURES)
_IDENTIFIER: Final = _NAMES.index("identifier")


def reasons(evidence: Evidence, contributions: Sequence[float], identifier: float) -> tuple[str, ...]:
    """At most four phrases. ``contributions`` are log-odds in the order of FEATURES, and that of the identifier, 0 for none."""
    if evidence.bare:
        return ("identifier matches", "nothing else to compare") if evidence.identifier else ("nothing to compare",)
    weights = [0.0] * len(_NAMES)
    for subject, value in zip(_SUBJECT, contributions, strict=True):
        weights[subject] += value
    weights[_IDENTIFIER] += identifier
    phrases: list[str] = []
    # Equal weights in the order of their names.
    for weight, subject in sorted((-abs(weight), subject) for subject, weight in enumerate(weights)):
        if -weight < _LEAST or len(phrases) == _MOST:
            break
        if phrase := _phrase(_NAMES[subject], evidence):
            phrases.append(phrase)
    return tuple(phrases)
