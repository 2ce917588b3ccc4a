"""Figures of a clustering of records: pairs found and right, and clusters that are exactly right."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks.merging.sets import Labelled, Pair
from benchmarks.merging.unions import union
from reflink.evaluation.proportions import wilson


@dataclass(frozen=True, slots=True)
class Scores:
    """``found``, ``right``, ``same``: numbers of pairs. ``whole``: clusters of the truth found exactly, of ``clusters``."""

    found: int
    right: int
    same: int
    whole: int
    clusters: int

    @property
    def precision(self) -> float:
        """Right pairs / pairs found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Right pairs / pairs of the truth."""
        return self.right / self.same if self.same else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.right / (self.found + self.same) if self.found + self.same else 1.0

    @property
    def f1_interval(self) -> list[float]:
        """Wilson's interval of F1 as a share of the pairs found and of the truth."""
        return wilson(2 * self.right, self.found + self.same)


def scores(labelled: Labelled, clusters: Iterable[Sequence[int]]) -> Scores:
    """Compare clusters, of two records or more, with the labels. Pairs without a label do not count."""
    made = [tuple(sorted(cluster)) for cluster in clusters if len(cluster) > 1]
    found = {pair for cluster in made for pair in combinations(cluster, 2)}
    if labelled.known is not None:
        found &= labelled.known
    truth = {tuple(cluster) for cluster in union(labelled.same)}
    return Scores(len(found), len(found & labelled.same), len(labelled.same), len(truth & set(made)), len(truth))


def wrong(labelled: Labelled, clusters: Iterable[Sequence[int]]) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs that are joined and should not be, and those that are missed."""
    found = {pair for cluster in clusters for pair in combinations(sorted(cluster), 2)}
    known: Collection[Pair] = found if labelled.known is None else labelled.known
    return sorted(found & set(known) - labelled.same), sorted(labelled.same - found)
