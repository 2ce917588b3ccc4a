"""Kinds of change, samples, and estimates from a sample."""

from __future__ import annotations

import random

import pytest
from scipy.stats import binomtest

from reflink.entities import Link
from workers.replay.diff import KINDS, Change, Sample, Tally, interval, kind_of


def link_to(cited: str | None, unresolved: str | None = None) -> Link:
    return Link.from_dict({"reference": "p#1", "citing": "p", "cited": cited, "unresolved": unresolved})


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (link_to("a"), link_to("a"), "unchanged"),
        (link_to("a"), link_to("one with a"), "unchanged"),
        (link_to("a"), link_to("b"), "relinked"),
        (link_to("a"), link_to(None, "empty"), "unlinked"),
        (link_to(None, "empty"), link_to("a"), "linked"),
        (link_to(None, "empty"), link_to(None, "no-candidate"), "reason"),
        (link_to(None, "empty"), link_to(None, "empty"), "unchanged"),
        (link_to("a"), None, "failed"),
    ],
)
def test_the_kind_of_a_change(before: Link, after: Link | None, kind: str):
    assert kind in KINDS
    assert kind_of(before, after, {"one with a": "a", "a": "a", "b": "b"}.__getitem__) == kind


@pytest.mark.parametrize(("count", "of"), [(0, 10), (10, 10), (3, 10), (5, 1000), (1, 1), (50, 100)])
def test_intervals_are_wilson_intervals(count: int, of: int):
    expected = binomtest(count, of).proportion_ci(0.95, method="wilson")
    assert interval(count, of) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_a_sample_is_uniform_and_determined_by_its_seed():
    drawn = [0] * 20
    for seed in range(3000):
        sample = Sample[int](5, seed)
        for item in range(20):
            sample.offer(item)
        assert len(set(sample.drawn)) == 5
        for item in sample.drawn:
            drawn[item] += 1
    assert all(abs(count - 750) < 5 * (3000 * 0.25 * 0.75) ** 0.5 for count in drawn)
    again = Sample[int](5, 2999)
    for item in range(20):
        again.offer(item)
    assert again.drawn == sample.drawn
    assert Sample[int](5, 0).drawn == []


def test_a_tally_estimates_the_counts_of_all():
    tally = Tally(examples=1)
    before, after = link_to("a"), link_to("b")
    changes = [Change("relinked", f"p#{n}", before, after, "text") for n in range(10)]
    changes += [Change("unchanged", f"p#{n}", before, before, "text") for n in range(10, 100)]
    random.Random(1).shuffle(changes)
    for change in changes:
        tally.take(change)
    report = tally.report(1000)
    assert report["relinked"]["count"] == 10
    assert report["relinked"]["share"] == 0.1
    low, high = report["relinked"]["of_all_95"]
    assert low < 100 < high
    assert [len(kept) for kept in tally.kept.values() if kept] == [1]
    assert "share_95" not in tally.report(100)["relinked"], "all were re-evaluated"
