"""Why a query went wrong, in one of a few words, decided from its outcome and the records alone.

Errors are of three sorts (`reflink.evaluation.outcomes.Error`): a wrong link, a missed one, a false one where the target is
absent. The chosen work is the one linked, or without a link the best candidate. The first cause of CAUSES that fits is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import numpy as np

from reflink.entities import Reference, Work
from reflink.evaluation.outcomes import Outcome
from reflink.lexical.trigrams import similarity, trigram_sets
from reflink.text import normalise

#: In the order in which they are tried.
CAUSES: Final[dict[str, str]] = {
    "nothing to search by": "missed: the reference has no text that could be searched for",
    "no candidate": "missed: neither stage proposed any work",
    "rejected": "missed: the target was the best candidate, at a probability below the threshold",
    "doubtful truth": "the reference has the chosen work's title and not the target's: the given target may be a false one",
    "twin record": "the chosen work and the target agree in title, first author and year: perhaps one work with two ids",
    "target not named": "the reference does not say the target's title: it has none, a translated one, or the truth is false",
    "not proposed": "the target is in the catalog, but among neither stage's candidates",
    "same title": "the chosen work and the target have the same title, and another year or first author",
    "similar title": "the titles of the chosen work and the target are similar (s above 0.8): parts, replies, yearly reports",
    "no title": "the reference has no title field, and the chosen work another title than the target",
    "another preferred": "both were proposed and nothing above holds: another work was judged to be more probable",
    "other work": "false: the target is absent, and a work of another title was linked",
}

#: s of titles that count as similar: the rule of S2ORC.
_SIMILAR: Final = 0.8
#: Share of a title's trigrams that a reference must have to name it, and that it may have by chance; for titles this long.
_NAMED: Final = 0.9
_CHANCE: Final = 0.5
_LONG: Final = 20


def cause_of(outcome: Outcome, reference: Reference, target: Work | None, chosen: Work | None, *, proposed: bool) -> str:
    """Why this query went wrong. ``proposed``: whether a stage proposed the target.

    ``target`` and ``chosen`` are None where the catalog lists no such work, or nothing was proposed. Raises ValueError when
    nothing is wrong.
    """
    if outcome.error is None:
        raise ValueError(f"{outcome.rid} is no error")
    if outcome.chosen is None:
        return "nothing to search by" if outcome.link.unresolved == "empty" else "no candidate"
    if outcome.error == "missed" and outcome.best:
        return "rejected"
    if target and chosen:
        if _is_doubtful(reference, target, chosen):
            return "doubtful truth"
        if _are_twins(target, chosen):
            return "twin record"
    if outcome.present and target and _is_unnamed(reference, target):
        return "target not named"
    if outcome.present and not proposed:
        return "not proposed"
    if target and chosen and (alike := similarity(_title(target), _title(chosen))) > _SIMILAR:
        return "same title" if alike == 1 and _title(target) == _title(chosen) else "similar title"
    if not reference.title:
        return "no title"
    return "another preferred" if outcome.present else "other work"


def counted(outcomes: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    """How many errors of each sort have each cause, the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        if outcome.error and outcome.cause:
            found.setdefault(outcome.error, Counter())[outcome.cause] += 1
    order = list(CAUSES)
    return {
        error: dict(sorted(found[error].items(), key=lambda item: (-item[1], order.index(item[0])))) for error in sorted(found)
    }


def _title(record: Work) -> str:
    return normalise(record.title or "", lexical=True)


def _first(work: Work) -> str:
    return normalise(work.authors[0], lexical=True) if work.authors else ""


def _are_twins(one: Work, other: Work) -> bool:
    if not _title(one) or _title(one) != _title(other):
        return False
    years = None in (one.year, other.year) or one.year == other.year
    return years and (not _first(one) or not _first(other) or _first(one) == _first(other))


def _is_doubtful(reference: Reference, target: Work, chosen: Work) -> bool:
    if len(_title(target)) < _LONG or len(_title(chosen)) < _LONG:
        return False
    said = _said(reference)
    return _named(said, _title(chosen)) >= _NAMED and _named(said, _title(target)) < _CHANCE


def _is_unnamed(reference: Reference, target: Work) -> bool:
    return len(_title(target)) >= _LONG and _named(_said(reference), _title(target)) < _CHANCE


def _said(reference: Reference) -> str:
    return normalise(f"{reference.title or ''} {reference.raw_query}", lexical=True)


def _named(text: str, title: str) -> float:
    """The share of the title's trigrams that the text has."""
    codes, offsets = trigram_sets([text, title])
    wanted = codes[offsets[1] :]
    return len(np.intersect1d(codes[: offsets[1]], wanted, assume_unique=True)) / len(wanted) if len(wanted) else 0.0
