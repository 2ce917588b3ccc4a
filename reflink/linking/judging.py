"""Collect the candidates of references from all stages and compute the verdicts of a batch at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from reflink.blocking.keys import title_words
from reflink.blocking.locators import number
from reflink.catalog.titles import by_titles
from reflink.entities import Candidate, Link, Method, Reference, RelatedWork, Unresolved, VersionRelation, Work
from reflink.journals.table import Journals
from reflink.linking.policy import Versions
from reflink.linking.versions import SAME_WORK, is_contradicted, relation
from reflink.verdict import Evidence, Judge
from reflink.verdict.batch import compare_all
from reflink.verdict.evidence import COLUMN, UNTITLED, Floats
from reflink.verdict.reasons import IDENTIFIER_ELSEWHERE, reasons

if TYPE_CHECKING:
    from reflink.catalog import Catalog

#: The score of a candidate that an identifier or locator proposed.
_CERTAIN: Final = 1.0
_DECIMALS: Final = 6
_CARD: Final = COLUMN["card"]
_PAGE: Final = COLUMN["page"]
#: Share of the best candidate's probability from which another candidate is its rival, for a reference without title.
_RIVAL: Final = 0.5
#: The same for other references: maximum ratio of the odds of both candidates.
_RIVAL_ODDS: Final = 10.0
#: Maximum characters of a volume; longer ones are broken records.
_MAX_VOLUME: Final = 100
#: Minimum agreement of a page that tells the best candidate apart from others.
_SAME_PAGE: Final = 0.5
#: Share of the words of two titles in common from which two records have the same title.
_SAME_TITLE: Final = 0.6


def rounded(value: float) -> float:
    """Round a score or probability to the published precision."""
    return round(float(value), _DECIMALS)


class Judged(NamedTuple):
    """A candidate with a verdict. ``cited``: canonical id; ``row``: its evidence, float64 [columns]."""

    cited: str
    method: Method
    score: float
    probability: float
    row: Floats
    work: Work


class _Waiting(NamedTuple):
    """A candidate under one of its titles, without a verdict. ``key``: the id of the work and the number of the title."""

    key: tuple[str, int]
    cited: str
    method: Method
    score: float
    work: Work
    by_identifier: bool


class Case:
    """The candidates of one reference.

    1. Each work is compared once, a work with translated titles once under each title. Of the titles and works that share
       a canonical id, the one with the highest probability counts.
    2. A candidate keeps the method and score of its first proposal.
    3. The citing paper is not a candidate, unless the reference has its identifier.
    4. A forbidden work, or a work with the same canonical id, is never a candidate.
    5. A proposed candidate has no effect until ``judge_all`` is called with the case.
    """

    def __init__(
        self,
        reference: Reference,
        bearers: Iterable[str],
        places: Iterable[str],
        catalog: Catalog,
        forbidden: Iterable[str] = (),
        absent: float = 0.5,
    ) -> None:
        """``bearers``: works with an identifier of the reference; ``places``: works with its locator.

        ``absent``: share of such references whose work is not in the catalog.
        """
        self.reference, self.absent = reference, absent
        self._catalog = catalog
        self._forbidden = frozenset(map(catalog.canonical, forbidden))
        self._own = catalog.canonical(reference.citing)
        self.bearers, self.places = bearers, places = tuple(bearers), tuple(places)
        self._bearers = frozenset(map(catalog.canonical, bearers))
        self._proposed: dict[str, tuple[Method, float]] = {}
        self._judged: dict[str, Judged] = {}
        self._seen: set[str] = set()
        self.waiting: list[_Waiting] = []
        self.propose(((cited, _CERTAIN) for cited in bearers), "identifier")
        self.propose(((cited, _CERTAIN) for cited in places), "place")

    def propose(self, candidates: Iterable[tuple[str, float]], method: Method) -> None:
        """Add candidates as (work id, score), best first."""
        for cited, score in candidates:
            one = self._catalog.canonical(cited)
            if one in self._forbidden or (one == self._own and one not in self._bearers):
                continue
            first = self._proposed.setdefault(one, (method, score))
            if cited in self._seen or (work := self._catalog.get(cited)) is None:
                continue
            self._seen.add(cited)
            known = one in self._bearers
            for at, each in enumerate(by_titles(work)):
                self.waiting.append(_Waiting((cited, at), one, *first, each, known))

    def settle(self, probabilities: Iterable[float], rows: Iterable[Floats]) -> None:
        """Record the verdict on each candidate of ``waiting``, in order."""
        for candidate, probability, row in zip(self.waiting, probabilities, rows, strict=True):
            before = self._judged.get(candidate.cited)
            if before is None or probability > before.probability:
                self._judged[candidate.cited] = Judged(
                    candidate.cited, candidate.method, candidate.score, probability, row, candidate.work
                )
        self.waiting = []

    def ranked(self) -> list[Judged]:
        """Return the candidates by descending probability, equal ones by smallest id."""
        return sorted(self._judged.values(), key=lambda candidate: (-candidate.probability, candidate.cited))

    @property
    def journals(self) -> Journals | None:
        """The catalog's table of journals."""
        return self._catalog.journals

    @property
    def best(self) -> float:
        """The highest probability; 0 without candidates."""
        return max((judged.probability for judged in self._judged.values()), default=0.0)

    def link(self, least: float, judge: Judge) -> Link | None:
        """Return the link to the best candidate of at least the probability ``least``; None without one, or if it has a rival.

        A candidate that is another version of the cited work (`is_contradicted`) is not linked.
        """
        if self.best < least or not self._judged:
            return None
        ranked = self._linkable(least)
        return None if not ranked or self._has_rival(ranked) else self._linked(ranked[0], judge)

    def _linkable(self, least: float) -> list[Judged]:
        """Return the candidates without other versions, best first; empty if the best is below ``least``."""
        ranked = self.ranked()
        start = next((at for at, one in enumerate(ranked) if one.probability < least or not self._is_contradicted(one)), None)
        return [] if start is None or ranked[start].probability < least else ranked[start:]

    def _is_contradicted(self, judged: Judged) -> bool:
        return judged.cited not in self._bearers and is_contradicted(self.reference, judged.work, judged.row)

    def _has_rival(self, ranked: Sequence[Judged]) -> bool:
        """Return whether another work is about as probable as the first, and the reference does not tell them apart.

        A reference with only journal, year, volume and page may cite each of the works there. Another one may cite each of
        the works of one title in different volumes, unless the page tells them apart. A work with an identifier of the
        reference has no rival.
        """
        best = ranked[0]
        if best.cited in self._bearers:
            return False
        if best.row[_CARD] == UNTITLED:
            near = takewhile(lambda other: other.probability >= _RIVAL * best.probability, ranked[1:])
            return any(not _have_same_title(best.work, other.work) for other in near)
        if best.row[_PAGE] >= _SAME_PAGE:
            return False
        sure = best.probability
        near = takewhile(
            lambda other: _RIVAL_ODDS * other.probability * (1 - sure) >= sure * (1 - other.probability), ranked[1:]
        )
        return any(
            _have_same_title(best.work, other.work) and _are_apart(best.work, other.work) and not self._is_contradicted(other)
            for other in near
        )

    def no_link(self, without_candidates: Unresolved, judge: Judge, accept: float = 1.0, versions: Versions = "report") -> Link:
        """Return an outcome without a link, or with ``versions`` ``link`` the link to another version of the cited work.

        Its reason is ``without_candidates`` if there are none; ``ambiguous`` if only a rival prevents a link of at least the
        probability ``accept``; ``other-version`` if the best candidate is another version; else ``not-in-catalog``.
        """
        reference, ranked = self.reference, self.ranked()
        if not ranked:
            return Link(reference=reference.id, citing=reference.citing, cited=None, unresolved=without_candidates)
        linkable = self._linkable(accept)
        best = (linkable or ranked)[0]
        found = None if linkable else self._relation(best, accept)
        if found in SAME_WORK and versions == "link":
            return self._linked(best, judge, found)
        evidence = Evidence(*best.row.tolist())
        return Link.made(
            {
                "reference": reference.id,
                "citing": reference.citing,
                "cited": None,
                "probability": rounded(best.probability),
                "unresolved": "ambiguous" if linkable else "not-in-catalog" if found is None else "other-version",
                "reasons": self._reasons(best, evidence, judge, linked=False),
                "evidence": evidence.present(),
                "runner_up": _candidate(best),
                "related": _related(best, found),
            }
        )

    def _relation(self, best: Judged, accept: float) -> VersionRelation | None:
        if best.cited in self._bearers:
            return None
        found = relation(self.reference, best.work, best.row)
        return "version-of" if found is None and best.probability >= accept else found

    def _linked(self, best: Judged, judge: Judge, found: VersionRelation | None = None) -> Link:
        """Return the link to a candidate; ``found``: its relation to the cited work, if it is another version."""
        evidence = Evidence(*best.row.tolist())
        second = next((other for other in self.ranked() if other is not best), None)
        return Link.made(
            {
                "reference": self.reference.id,
                "citing": self.reference.citing,
                "cited": best.cited,
                "method": best.method,
                "score": best.score,
                "probability": rounded(best.probability),
                "reasons": self._reasons(best, evidence, judge, linked=True),
                "evidence": evidence.present(),
                "runner_up": None if second is None else _candidate(second),
                "status": best.work.status,
                "related": _related(best, found),
            }
        )

    def _reasons(self, best: Judged, evidence: Evidence, judge: Judge, *, linked: bool) -> tuple[str, ...]:
        """Return the best candidate's reasons, preceded by IDENTIFIER_ELSEWHERE if an identifier names a work not linked."""
        found = reasons(evidence, judge.contributions(best.row))
        elsewhere = self._bearers and not (linked and best.cited in self._bearers)
        return (IDENTIFIER_ELSEWHERE, *found) if elsewhere else found


def judge_all(cases: Sequence[Case], judge: Judge) -> None:
    """Compute the verdicts on all waiting candidates in one pass."""
    undecided = [case for case in cases if case.waiting]
    works: dict[tuple[str, int], int] = {}
    listed: list[Work] = []
    pairs: list[tuple[int, int]] = []
    by_identifier: list[bool] = []
    for row, case in enumerate(undecided):
        for candidate in case.waiting:
            at = works.setdefault(candidate.key, len(listed))
            if at == len(listed):
                listed.append(candidate.work)
            pairs.append((row, at))
            by_identifier.append(candidate.by_identifier)
    if not pairs:
        return
    references, journals = [case.reference for case in undecided], undecided[0].journals
    rows = compare_all(references, listed, np.array(pairs), np.array(by_identifier), journals)
    absent = np.repeat([case.absent for case in undecided], [len(case.waiting) for case in undecided])
    probabilities = judge.probabilities(rows, absent).tolist()
    start = 0
    for case in undecided:
        end = start + len(case.waiting)
        case.settle(probabilities[start:end], rows[start:end])
        start = end


def _have_same_title(one: Work, other: Work) -> bool:
    words, others = {*title_words(one.title or "")}, {*title_words(other.title or "")}
    return bool(words & others) and len(words & others) >= _SAME_TITLE * len(words | others)


def _are_apart(one: Work, other: Work) -> bool:
    """Return whether two works are in different volumes; two records of one work are not."""
    return bool(one.volume and other.volume) and number((one.volume or "")[:_MAX_VOLUME]) != number(
        (other.volume or "")[:_MAX_VOLUME]
    )


def _related(judged: Judged, found: VersionRelation | None) -> RelatedWork | None:
    return None if found is None else RelatedWork.made({"work": judged.cited, "relation": found})


def _candidate(judged: Judged) -> Candidate:
    return Candidate.made({"cited": judged.cited, "score": judged.score, "probability": rounded(judged.probability)})
