"""Classifies the errors of an evaluation by cause, from a query's outcome and the records alone.

There are three kinds of errors (`reflink.evaluation.outcomes.Error`): a wrong link, a missed link, and a false link where the
target is absent. The chosen work is the linked work or, without a link, the best candidate. An error's cause is the first entry
of CAUSES that applies.
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

#: Causes and their descriptions, in the order of the tests.
CAUSES: Final[dict[str, str]] = {
    "nothing to search by": "missed: the reference has no text to search for",
    "no candidate": "missed: neither stage proposed any work",
    "rejected": "missed: the target was the best candidate, at a probability below the threshold",
    "doubtful truth": "the reference has the chosen work's title and not the target's: the given target may be wrong",
    "twin record": "the chosen work and the target agree in title, first author and year: possibly one work with two ids",
    "target not named": "the reference lacks the target's title: it has no title or a translated one, or the target is wrong",
    "not proposed": "the target is in the catalog, but not among the candidates of either stage",
    "same title": "the chosen work and the target have the same title, and another year or first author",
    "similar title": "the titles of the chosen work and the target are similar (s above 0.8): parts, replies, yearly reports",
    "no title": "the reference has no title field, and the chosen work another title than the target",
    "another preferred": "both were proposed and no cause above applies: another work got a higher probability",
    "other work": "false: the target is absent, and a work of another title was linked",
}

#: Minimum s of similar titles: the rule of S2ORC.
_SIMILAR: Final = 0.8
#: Share of a title's trigrams in a reference: minimum if the reference names the title, and maximum by chance. Both hold for
#: titles of at least _LONG characters.
_NAMED: Final = 0.9
_CHANCE: Final = 0.5
_LONG: Final = 20


def cause_of(outcome: Outcome, reference: Reference, target: Work | None, chosen: Work | None, *, proposed: bool) -> str:
    """Return the cause of this query's error. ``proposed``: whether a stage proposed the target.

    ``target`` and ``chosen`` are None if the catalog does not list the work, or nothing was proposed. Raises ValueError if the
    outcome is not an error.
    """
    if outcome.error is None:
        raise ValueError(f"the outcome of {outcome.rid} is not an error")
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
    """Return the number of errors by kind and cause, the most frequent cause first."""
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


def _are_twins(a: Work, b: Work) -> bool:
    if not _title(a) or _title(a) != _title(b):
        return False
    years = None in (a.year, b.year) or a.year == b.year
    return years and (not _first(a) or not _first(b) or _first(a) == _first(b))


def _is_doubtful(reference: Reference, target: Work, chosen: Work) -> bool:
    if len(_title(target)) < _LONG or len(_title(chosen)) < _LONG:
        return False
    text = _text_of(reference)
    return _named(text, _title(chosen)) >= _NAMED and _named(text, _title(target)) < _CHANCE


def _is_unnamed(reference: Reference, target: Work) -> bool:
    return len(_title(target)) >= _LONG and _named(_text_of(reference), _title(target)) < _CHANCE


def _text_of(reference: Reference) -> str:
    return normalise(f"{reference.title or ''} {reference.raw_query}", lexical=True)


def _named(text: str, title: str) -> float:
    """Return the share of the title's trigrams that the text has."""
    codes, offsets = trigram_sets([text, title])
    wanted = codes[offsets[1] :]
    return len(np.intersect1d(codes[: offsets[1]], wanted, assume_unique=True)) / len(wanted) if len(wanted) else 0.0
