from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.siamese.measuring import accuracy, answers, best_threshold, open_row, outcomes, reach, with_candidates
from benchmarks.siamese.systems import Trigrams, Verdict
from reflink.entities import Reference
from reflink.evaluation.rivals.siamese.candidates import AuthorIndex
from tests.reflink.evaluation.rivals.siamese.toy import GROUPS, QUERIES, WORKS

INDEX = AuthorIndex(WORKS.values())


class Oracle:
    """Scores 0.9 for the target, and less for other works."""

    def scores(self, references: Sequence[Reference], candidates: Sequence[Sequence[str]]) -> list[NDArray[np.floating]]:
        targets = [reference.id.split("#")[1] for reference in references]
        return [
            np.array([0.9 if id_ == target else 0.3 for id_ in ids]) for target, ids in zip(targets, candidates, strict=True)
        ]


def test_an_oracle_is_right_wherever_the_target_is_a_candidate():
    closed = with_candidates(QUERIES, INDEX, GROUPS, "closed", "any")
    assert reach(closed, GROUPS)["reached"] == 1
    row = accuracy(closed, answers(Oracle(), closed), GROUPS)
    assert (row["accuracy"], row["queries"]) == (1, len(QUERIES))
    half = with_candidates(QUERIES, INDEX, GROUPS, "open", "any")
    removed = GROUPS.removed()
    assert all(removed.isdisjoint(ids) for ids in half.candidates)
    found = answers(Oracle(), half)
    threshold = best_threshold(half, found, GROUPS)
    assert threshold == pytest.approx(0.9)
    figures = open_row(half, found, GROUPS, threshold)
    assert (figures["precision"], figures["recall"], figures["false_link"]) == (1, 1, 0)
    assert figures["absent"] == sum(query.truth in removed for query in QUERIES) > 0
    everything = open_row(half, found, GROUPS, 0.0)
    assert everything["recall"] == 1
    assert everything["precision"] < 1


def test_references_carry_no_identifiers_and_with_raw_only_no_fields():
    tagged, raw = (with_candidates(QUERIES[:3], INDEX, GROUPS, "closed", "any", raw_only=raw) for raw in (False, True))
    assert all(not each.ids.keys() and each.last_names for each in tagged.references)
    assert all(not each.last_names and each.year is None for each in raw.references)


@pytest.mark.parametrize("system", [Trigrams(WORKS), Verdict(WORKS, None)])
def test_trigrams_and_verdict_choose_among_the_candidates(system: Trigrams | Verdict):
    of = with_candidates(QUERIES, INDEX, GROUPS, "closed", "most").chosen(range(20))
    scores = system.scores(of.references, of.candidates)
    assert [len(part) for part in scores] == [len(ids) for ids in of.candidates]
    found = answers(system, of)
    assert sum(outcome.right for outcome in outcomes(of, found, GROUPS, 0.0)) >= 15
    nobody = with_candidates(QUERIES[:1], AuthorIndex([]), GROUPS, "closed", "any")
    assert answers(system, nobody) == [(None, 0.0)]
    assert not outcomes(nobody, answers(system, nobody), GROUPS, 0.0)[0].right
