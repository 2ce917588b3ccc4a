"""The figures of a system over queries with given candidates, in the closed and in the open world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.siamese.systems import System
from reflink.entities import Link, Reference
from reflink.evaluation.measure import closed_figures, open_figures
from reflink.evaluation.outcomes import Outcome
from reflink.evaluation.records import Query, without_identifiers
from reflink.evaluation.rivals.rule import year_of
from reflink.evaluation.rivals.siamese.candidates import AuthorIndex, Share
from reflink.evaluation.rivals.siamese.rival import Answer, best_of
from reflink.evaluation.rivals.siamese.texts import extracted_names
from reflink.evaluation.worlds import Groups, World, hidden


@dataclass(frozen=True)
class WithCandidates:
    """Queries of one part of the data with their candidates in a world, and what a system sees of each reference."""

    queries: Sequence[Query]
    references: Sequence[Reference]
    candidates: Sequence[Sequence[str]]
    world: World

    def chosen(self, rows: Sequence[int]) -> WithCandidates:
        """Return some of the queries."""
        queries, references = [self.queries[row] for row in rows], [self.references[row] for row in rows]
        return WithCandidates(queries, references, [self.candidates[row] for row in rows], self.world)


def with_candidates(
    queries: Sequence[Query], index: AuthorIndex, groups: Groups, world: World, share: Share, *, raw_only: bool = False
) -> WithCandidates:
    """Return the queries with the candidates of their extracted authors and year, without identifiers.

    ``raw_only``: without tagged fields too, so that authors and year come from the taggers.
    """
    references = [without_identifiers(query.reference) for query in queries]
    if raw_only:
        references = [hidden(reference) for reference in references]
    lacking = groups.removed() if world == "open" else frozenset[str]()
    found = [index.candidates(extracted_names(each), year_of(each), share, lacking) for each in references]
    return WithCandidates(queries, references, found, world)


def answers(system: System, of: WithCandidates) -> list[Answer]:
    """Return the best candidate of each query."""
    scores = system.scores(of.references, of.candidates)
    return [best_of(ids, part) for ids, part in zip(of.candidates, scores, strict=True)]


def outcomes(of: WithCandidates, found: Sequence[Answer], groups: Groups, threshold: float) -> list[Outcome]:
    """Return the outcomes if every best candidate of at least ``threshold`` is linked."""
    made = []
    for query, (best, score) in zip(of.queries, found, strict=True):
        here = not groups.is_absent(query.truth, of.world)
        linked = best if score >= threshold else None
        right = here and linked is not None and linked in groups.same(query.truth)
        link = Link(reference=query.reference.id, citing=query.reference.citing, cited=linked)
        made.append(Outcome(query.reference.id, query.kind, here, right, link))
    return made


def accuracy(of: WithCandidates, found: Sequence[Answer], groups: Groups) -> dict[str, Any]:
    """Return the share of the queries whose best candidate is right, whatever its score, with its interval."""
    figures = closed_figures(outcomes(of, found, groups, 0.0))
    low, high = figures["error_interval"]
    return {
        "accuracy": round(1 - figures["error"], 6),
        "interval": [round(1 - high, 6), round(1 - low, 6)],
        "queries": len(found),
    }


def best_threshold(of: WithCandidates, found: Sequence[Answer], groups: Groups) -> float:
    """Return the score from which links have the highest F1; of several the highest."""
    scores = np.array([answer.score if answer.best is not None else -1.0 for answer in found])
    right = np.array([outcome.right for outcome in outcomes(of, found, groups, 0.0)], dtype=float)
    present = sum(not groups.is_absent(query.truth, of.world) for query in of.queries)
    order = np.argsort(-scores, kind="stable")
    f1 = 2 * np.cumsum(right[order]) / (np.arange(1, len(order) + 1) + present)
    last = np.append(scores[order][1:] != scores[order][:-1], True) & (scores[order] >= 0)
    return float(scores[order][int(np.argmax(np.where(last, f1, -1.0)))]) if last.any() else 1.0


def open_row(of: WithCandidates, found: Sequence[Answer], groups: Groups, threshold: float) -> dict[str, Any]:
    """Return precision, recall, F1 and false links with intervals, and the counts."""
    figures = open_figures(outcomes(of, found, groups, threshold))
    return {"threshold": threshold, **{name: value for name, value in figures.items() if name not in ("methods", "causes")}}


def reach(of: WithCandidates, groups: Groups) -> dict[str, float]:
    """Return the share of the queries with a target among their candidates, and the mean number of candidates."""
    here = [not set(groups.same(query.truth)).isdisjoint(ids) for query, ids in zip(of.queries, of.candidates, strict=True)]
    sizes = [len(ids) for ids in of.candidates]
    return {"reached": round(float(np.mean(here)), 6), "candidates": round(float(np.mean(sizes)), 2)}
