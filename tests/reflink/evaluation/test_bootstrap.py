"""Intervals over citing papers, against a plain computation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.evaluation.bootstrap import RESAMPLES, draws, intervals
from reflink.evaluation.proportions import wilson
from tests.profiles import examples

#: (paper, linked, right) of each query.
ROWS = st.lists(st.tuples(st.sampled_from("abcde"), st.booleans(), st.booleans()), min_size=1, max_size=25)


def _plainly(rows: Sequence[tuple[str, bool, bool]]) -> list[float] | None:
    """Compute the precision in each resample, paper by paper and query by query."""
    papers = sorted({paper for paper, _, _ in rows})
    values = []
    for drawn in draws(len(papers)):
        hits = links = 0
        for paper, times in zip(papers, drawn, strict=True):
            for of, linked, right in rows:
                if of == paper and linked:
                    links += int(times)
                    hits += int(times) * right
        if links:
            values.append(hits / links)
    if not values or min(values) == max(values):
        return None
    return [float(np.percentile(values, at)) for at in (2.5, 97.5)]


@settings(max_examples=examples(15))
@given(ROWS)
def test_an_interval_equals_plain_counting(rows: list[tuple[str, bool, bool]]) -> None:
    linked = np.array([linked for _, linked, _ in rows], dtype=float)
    hits = np.array([linked and right for _, linked, right in rows], dtype=float)
    found = intervals([paper for paper, _, _ in rows], {"precision": (hits, linked)})["precision"]
    assert found == pytest.approx(_plainly(rows) or wilson(hits.sum(), linked.sum()), abs=2e-6)


def test_a_resample_draws_the_number_of_papers_deterministically() -> None:
    drawn = draws(7)
    assert drawn.shape == (RESAMPLES, 7)
    assert (drawn.sum(axis=1) == 7).all()
    np.testing.assert_array_equal(drawn, draws(7))
    assert abs(drawn.mean() - 1) < 1e-9
    assert drawn.std(axis=0).min() > 0.8


def test_references_of_a_paper_are_not_independent() -> None:
    """Ten papers, each all right or all wrong, give a wider interval than their two hundred references drawn singly."""
    right = np.repeat([1.0, 1, 1, 1, 1, 1, 1, 1, 0, 0], 20)
    papers = [str(n // 20) for n in range(200)]
    low, high = intervals(papers, {"share": (right, 1)})["share"]
    alone = intervals([str(n) for n in range(200)], {"share": (right, 1)})["share"]
    assert high - low > 3 * (alone[1] - alone[0])
    assert low < 0.8 < high


def test_the_order_of_the_queries_does_not_matter() -> None:
    rows = [(f"p{n % 13}", float(n % 7 == 0)) for n in range(200)]
    one, other = (
        intervals([paper for paper, _ in some], {"error": (np.array([x for _, x in some]), 1)}) for some in (rows, rows[::-1])
    )
    assert one == other


def test_an_interval_without_variance_is_wilsons() -> None:
    assert intervals(["a", "b", "c"], {"error": (np.zeros(3), 1)})["error"] == wilson(0, 3)
    assert intervals(["a"] * 9, {"error": (np.arange(9) < 3, 1)})["error"] == wilson(3, 9)
    assert intervals([], {"error": (np.zeros(0), 1)})["error"] == [0.0, 1.0]
