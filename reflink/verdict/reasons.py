"""A verdict in words: phrases of a fixed vocabulary for and against, the strongest contribution first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reflink.verdict.evidence import WRITTEN, Evidence

#: Maximum number of phrases, and minimum log-odds of a subject that gets a phrase.
_MOST: Final = 4
_LEAST: Final = 0.25

#: An identifier of the reference names another work than its metadata: it is never followed blindly, and always reported.
IDENTIFIER_ELSEWHERE: Final = "identifier names another work"

#: All phrases that can occur in an outcome's reasons.
VOCABULARY: Final[tuple[str, ...]] = (
    "identifier matches", "identifier differs", IDENTIFIER_ELSEWHERE,
    "title matches", "title matches but for a subtitle", "title is similar", "title differs", "title missing",
    "title found in the text", "title not found in the text", "short title matches",
    "authors match", "first author matches, others differ", "first author differs", "no author in common",
    "year matches", "year off by one", "year differs",
    "volume matches", "volume differs in digits", "volume not in the text", "volume differs",
    "page matches", "page matches, as others do", "page differs in digits", "page not in the text",
    "page differs",
    "venue matches", "venue is similar", "venue not in the text", "venue differs",
    "numbers in the titles differ", "years in the titles differ", "years in the titles match",
    "one is an erratum, reply or summary", "one is a preprint or data set", "nothing else to compare", "nothing to compare",
)  # fmt: skip


def _title(e: Evidence) -> str:
    if e.title != e.title:
        if e.contained != e.contained or (e.card != WRITTEN and e.contained < 0.8):
            return "title missing"
        return "title found in the text" if e.contained >= 0.8 else "title not found in the text"
    if e.beginning == 1:
        return "title matches but for a subtitle"
    if e.title >= 0.9 or e.cover >= 0.97:
        return "short title matches" if e.length < 20 else "title matches"
    return "title is similar" if max(e.title, e.cover - 0.2) >= 0.6 else "title differs"


def _authors(e: Evidence) -> str | None:
    if e.authors != e.authors:
        return None
    if e.authors == 0:
        return "no author in common"
    if e.first_author < 0.6:
        return "first author differs"
    return "authors match" if e.authors >= 0.75 else "first author matches, others differ"


def _year(e: Evidence) -> str | None:
    if e.year != e.year:
        return None
    return "year matches" if e.year == 0 else "year off by one" if e.year == 1 else "year differs"


def _volume(e: Evidence) -> str | None:
    if e.volume != e.volume:
        return None
    phrases = {1.0: "volume matches", 0.5: "volume differs in digits", 0.25: "volume not in the text"}
    return phrases.get(e.volume, "volume differs")


def _page(e: Evidence) -> str | None:
    if e.page != e.page:
        return None
    phrases = {
        1.0: "page matches", 0.75: "page differs in digits", 0.5: "page matches, as others do", 0.25: "page not in the text"
    }  # fmt: skip
    return phrases.get(e.page, "page differs")


def _venue(e: Evidence) -> str | None:
    if e.venue != e.venue:
        return None
    if e.venue < 0.5:
        return "venue not in the text" if e.card == WRITTEN else "venue differs"
    return "venue matches" if e.venue >= 0.75 else "venue is similar"


def _numbers(e: Evidence) -> str | None:
    if e.title_year == 0:
        return "years in the titles differ"
    if e.numbers > 0:
        return "numbers in the titles differ"
    return "years in the titles match" if e.title_year == 1 else None


_PHRASES: Final[dict[str, Callable[[Evidence], str | None]]] = {
    "title": _title,
    "authors": _authors,
    "year": _year,
    "volume": _volume,
    "page": _page,
    "venue": _venue,
    "numbers": _numbers,
    "marks": lambda e: "one is an erratum, reply or summary" if e.marks == 1 else None,
    "deposit": lambda e: "one is a preprint or data set" if e.deposit == 1 else None,
    "identifier": lambda e: "identifier matches" if e.identifier == 1 else "identifier differs",
}


def reasons(evidence: Evidence, contributions: Mapping[str, float]) -> tuple[str, ...]:
    """Return at most four phrases for a pair.

    ``contributions``: log-odds by subject (Model.contributions).
    """
    if evidence.bare:
        return ("identifier matches", "nothing else to compare") if evidence.identifier == 1 else ("nothing to compare",)
    phrases: list[str] = []
    # Order equal weights by name.
    strong = [(-abs(weight), subject) for subject, weight in contributions.items() if abs(weight) >= _LEAST]
    strong.sort()
    for _, subject in strong:
        if len(phrases) == _MOST:
            break
        if phrase := _PHRASES[subject](evidence):
            phrases.append(phrase)
    return tuple(phrases)
