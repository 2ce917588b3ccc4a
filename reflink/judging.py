"""One reference under judgement: what is proposed for it, from whichever stage, and the verdict on each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from reflink.entities import Candidate, Link, Method, Reference, Unresolved
from reflink.verdict import Description, Evidence, Judge, describe_reference, describe_work, filled, outline

if TYPE_CHECKING:
    from reflink.catalog import Catalog

#: The score of a candidate that an identifier brought.
_BY_IDENTIFIER: Final = 1.0
_DECIMALS: Final = 6


def rounded(value: float) -> float:
    """As scores and probabilities are published."""
    return round(float(value), _DECIMALS)


class Judged(NamedTuple):
    """A candidate after the verdict. ``cited`` is canonical."""

    cited: str
    method: Method
    score: float
    probability: float
    evidence: Evidence
    status: str | None


class _Outlined(NamedTuple):
    """A candidate of which the outline is known, and so what it could be at most."""

    cited: str
    method: Method
    score: float
    described: Description
    outline: Evidence
    status: str | None


class Case:
    """The candidates of one reference. Each work is compared once; of the works that are one, the best counts.

    A candidate keeps the method and score by which it was proposed first. The reference's own paper is no candidate, unless the
    reference carries its identifier.
    """

    def __init__(self, reference: Reference, bearers: Iterable[str], catalog: Catalog, judge: Judge) -> None:
        """``bearers``: the works that bear an identifier of the reference; they are candidates at once."""
        self.reference = reference
        self._catalog, self._judge = catalog, judge
        self._described = describe_reference(reference)
        self._own = catalog.canonical(reference.citing)
        bearers = tuple(bearers)
        self._bearers = frozenset(map(catalog.canonical, bearers))
        self._proposed: dict[str, tuple[Method, float]] = {}
        self._judged: dict[str, Judged] = {}
        self._waiting: list[_Outlined] = []
        self._seen: set[str] = set()
        self.propose(((cited, _BY_IDENTIFIER) for cited in bearers), "identifier")

    def propose(self, candidates: Iterable[tuple[str, float]], method: Method) -> None:
        """Judges works by id, with the score that brought them, best first."""
        for cited, score in candidates:
            one = self._catalog.canonical(cited)
            if one == self._own and one not in self._bearers:
                continue
            first = self._proposed.setdefault(one, (method, score))
            if cited in self._seen or (work := self._catalog.get(cited)) is None:
                continue
            self._seen.add(cited)
            described = describe_work(work)
            outlined = outline(self._described, described, by_identifier=one in self._bearers)
            self._waiting.append(_Outlined(one, *first, described, outlined, work.status))

    def ranked(self) -> list[Judged]:
        """Best first: the highest probability, then the smallest id."""
        for one, method, score, described, outlined, status in self._waiting:
            evidence = filled(outlined, self._described, described)
            probability = self._judge.probability(evidence)
            if one not in self._judged or probability > self._judged[one].probability:
                self._judged[one] = Judged(one, method, score, probability, evidence, status)
        self._waiting.clear()
        return sorted(self._judged.values(), key=lambda candidate: (-candidate.probability, candidate.cited))

    def link(self, least: float) -> Link | None:
        """The link to the best, when its probability is at least so high."""
        known = any(judged.probability >= least for judged in self._judged.values())
        if not known and not any(self._judge.at_most(each.outline) >= least for each in self._waiting):
            return None  # without a look at titles, which would be most of the work
        ranked = self.ranked()
        if ranked[0].probability < least:
            return None
        best = ranked[0]
        return Link.made(
            {
                "reference": self.reference.id,
                "citing": self.reference.citing,
                "cited": best.cited,
                "method": best.method,
                "score": best.score,
                "probability": rounded(best.probability),
                "reasons": self._judge.reasons(best.evidence),
                "runner_up": _candidate(ranked[1]) if len(ranked) > 1 else None,
                "status": best.status,
            }
        )

    def no_link(self, silent: Unresolved) -> Link:
        """Why there is none: ``silent`` when nothing was proposed, else that the best is another work."""
        reference, ranked = self.reference, self.ranked()
        if not ranked:
            return Link(reference=reference.id, citing=reference.citing, cited=None, unresolved=silent)
        best = ranked[0]
        return Link(
            reference=reference.id, citing=reference.citing, cited=None, probability=rounded(best.probability),
            unresolved="not-in-catalog", reasons=self._judge.reasons(best.evidence), runner_up=_candidate(best),
        )  # fmt: skip


def _candidate(judged: Judged) -> Candidate:
    return Candidate.made({"cited": judged.cited, "score": judged.score})
