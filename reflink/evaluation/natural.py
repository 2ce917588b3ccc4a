"""Evaluation with natural absence: PubMed's reference lists as mere text, linked into the protocol's works and PubMed's.

More than nine of ten cited works are absent. The links assume the policy's share of absent works, one half by default, and
``assuming`` gives the outcomes under the share that is known from the data.
A link that is neither to the target nor provably to another work (`reflink.evaluation.pubmed.is_false`) cannot be decided: its
query is left out and counted.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reflink.entities import Candidate, Work
from reflink.evaluation import pubmed
from reflink.evaluation.causes import cause_of
from reflink.evaluation.contents import contents_of
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out
from reflink.evaluation.outcomes import Mistake, Outcome, best_of
from reflink.evaluation.records import Listing
from reflink.evaluation.searches import kept_catalog
from reflink.evaluation.worlds import Groups
from reflink.linking.judging import rounded
from reflink.linking.linker import propose
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.verdict.model import prior


@dataclass(frozen=True)
class Natural:
    """Outcomes and mistakes of PubMed's references. ``absent``: share without a target. ``undecided``: queries left out."""

    outcomes: list[Outcome]
    mistakes: list[Mistake]
    absent: float
    undecided: int


def link_lists(
    folder: Path, listings: Sequence[Listing], policy: Policy, judges: HeldOut, cache: Path, present: float | None = None
) -> Natural:
    """Link the references of PubMed's lists that have an id. Raises BadRecord.

    ``present``: share of references with a target; as many of those without one are left out, drawn by a hash of the reference.
    None: all references.
    """
    known = pubmed.merged(listings, pubmed.read_works(folder))
    works, groups = {listing.work.id: listing.work for listing in known}, Groups.read(known)
    cited = list(pubmed.read_references(folder))
    truths = {query.reference.id: query.truth for query in pubmed.queries(cited, works.values())}
    if present is not None:
        lacking = sorted((each.reference.id for each in cited if each.reference.id not in truths), key=_digest)
        kept = {*truths, *lacking[: round(len(truths) * (1 - present) / present)]}
        cited = [each for each in cited if each.reference.id in kept]
    absent = 1 - len(truths) / max(1, len(cited))
    catalog, references = kept_catalog(list(works.values()), None, cache), [each.reference for each in cited]
    links = link_held_out(references, NativeCandidates(catalog), policy, judges, "linking, PubMed's lists")
    outcomes: list[Outcome] = []
    mistakes: list[Mistake] = []
    for each, link in zip(cited, links, strict=True):
        rid, truth = each.reference.id, truths.get(each.reference.id)
        same = set() if truth is None else {catalog.canonical(id_) for id_ in groups.same(truth)}
        best = best_of(link) in same
        chosen: Work | None = works.get(best_of(link) or "")
        right = best and link.cited is not None
        if link.cited is not None and not right and not (chosen and pubmed.is_false(each.ids, chosen)):
            continue
        label = truth or next(iter(each.ids.keys()))
        outcome = Outcome(
            rid, "pubmed", truth is not None, right, link, best, contents=contents_of(each.reference), truth=label
        )
        if outcome.error:
            proposed = truth is not None and not same.isdisjoint(
                propose([each.reference], NativeCandidates(catalog), policy)[0]
            )
            cause = cause_of(outcome, each.reference, works.get(label), chosen, proposed=proposed)
            outcome = replace(outcome, cause=cause)
            mistakes.append(Mistake(outcome, each.reference, works.get(label), chosen))
        outcomes.append(outcome)
    return Natural(outcomes, mistakes, absent, len(cited) - len(outcomes))


def assuming(outcomes: Sequence[Outcome], policy: Policy, absent: float) -> list[Outcome]:
    """Return the outcomes under a share of absent works at least the policy's: its probabilities are lower, and fewer link."""
    if policy.profile != "production":
        return list(outcomes)
    shift = float(prior(absent) - prior(policy.absent))
    return [_assuming(each, shift, policy.accept) for each in outcomes]


def _assuming(outcome: Outcome, shift: float, accept: float) -> Outcome:
    link = outcome.link
    if link.probability is None or not 0 < link.probability < 1:
        return outcome
    odds = math.log(link.probability / (1 - link.probability)) + shift
    p = rounded(1 / (1 + math.exp(-odds)))
    changed: dict[str, object] = {"probability": p}
    if link.cited is not None and p < accept:
        best = Candidate(cited=link.cited, score=link.score or 0.0, probability=p)
        changed |= {"cited": None, "method": None, "score": None, "unresolved": "not-in-catalog", "runner_up": best}
    new = link.model_copy(update=changed)
    return replace(outcome, link=new, right=outcome.right and new.cited is not None, cause=None)


def mixture(articles: Sequence[Outcome], lists: Sequence[Outcome]) -> list[Outcome]:
    """Return equally many outcomes of both sources, those of the larger source drawn by a hash of the reference."""
    least = min(len(articles), len(lists))
    return [*_drawn(articles, least), *_drawn(lists, least)]


def _drawn(outcomes: Sequence[Outcome], count: int) -> list[Outcome]:
    return sorted(outcomes, key=lambda each: _digest(each.rid))[:count]


def _digest(rid: str) -> bytes:
    return hashlib.sha1(rid.encode(), usedforsecurity=False).digest()
