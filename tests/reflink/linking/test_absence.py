"""The share of absent works is recovered from the probabilities of references."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Candidate, Link, Reference
from reflink.linking.absence import FEW, FLOOR, HIGHEST, LOWEST, absent_given, bounded, fit, link_learnt, log_odds_of, source_of
from reflink.linking.policy import Policy
from reflink.verdict.model import prior
from tests.profiles import examples

log_odds = st.floats(-20, 20) | st.sampled_from([-math.inf, math.inf])
shares = st.floats(LOWEST, HIGHEST)


def drawn(n: int, absent: float, seed: int, sharp: float = 3.0) -> np.ndarray:
    """Return log-odds of ``n`` references: the two components are normal with means ``sharp`` and -``sharp``.

    Their variance is 2 ``sharp``, so that the values are the log-odds of the components.
    """
    rng = np.random.default_rng(seed)
    lacking = rng.random(n) < absent
    return rng.normal(np.where(lacking, -sharp, sharp), math.sqrt(2 * sharp))


@given(st.lists(log_odds, min_size=1, max_size=30), st.sampled_from([0.0, FEW]), shares)
def test_the_share_is_the_most_likely(given_: list[float], weight: float, toward: float) -> None:
    """Compare with the best of a grid. The likelihood of a share and of ``weight`` more references with known works."""

    def likelihood(absent: float) -> float:
        with np.errstate(over="ignore"):
            odds = np.exp(np.minimum(given_, 50.0))
        of_references = float(np.log((1 - absent) * odds + absent).sum())
        return of_references + weight * (toward * math.log(absent) + (1 - toward) * math.log(1 - absent))

    found = fit(given_, weight, toward)
    assert LOWEST <= found <= HIGHEST
    assert all(likelihood(found) >= likelihood(share) - 1e-6 for share in np.linspace(LOWEST, HIGHEST, 97))


@settings(max_examples=examples(60))
@given(st.floats(0.05, 0.95), st.integers(0, 2**32))
def test_a_known_share_is_recovered(absent: float, seed: int) -> None:
    """Five standard errors of 4,000 references whose works are known; the overlap of the components adds to the error."""
    assert abs(fit(drawn(4000, absent, seed)) - absent) < 5 * math.sqrt(0.25 / 4000)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=30), st.floats(0, 3))
def test_stronger_evidence_of_presence_lowers_the_share(given_: list[float], more: float) -> None:
    assert fit([each + more for each in given_]) <= fit(given_) + 1e-6


@given(log_odds, shares, shares)
def test_a_work_is_more_probably_absent_where_more_are(each: float, a: float, b: float) -> None:
    few, many = sorted((a, b))
    (low,), (high,) = absent_given([each], few), absent_given([each], many)
    assert 0 <= low <= high <= 1
    assert absent_given([0.0], few)[0] == pytest.approx(few)


def test_without_references_the_share_is_the_given_one() -> None:
    assert fit([], 20.0, 0.3) == 0.3
    assert fit([math.inf] * 10) == LOWEST
    assert fit([-math.inf] * 10) == HIGHEST
    assert (bounded(0.0), bounded(0.4), bounded(1.0)) == (LOWEST, 0.4, HIGHEST)


@given(st.floats(0.001, 0.999), shares)
def test_an_outcome_gives_the_log_odds_at_equal_shares(probability: float, absent: float) -> None:
    link = Link(reference="r", citing="c", cited="w", method="semantic", probability=probability)
    found = log_odds_of(link, absent)
    assert found is not None
    assert 1 / (1 + math.exp(-found - float(prior(absent)))) == pytest.approx(probability)


def test_outcomes_without_a_probability_in_between() -> None:
    def outcome(**fields: object) -> Link:
        return Link.made({"reference": "r", "citing": "c", "cited": None, **fields})

    assert log_odds_of(outcome(cited="w", method="identifier", probability=1.0), 0.5) == math.inf
    assert log_odds_of(outcome(probability=0.0, unresolved="not-in-catalog"), 0.5) == -math.inf
    assert log_odds_of(outcome(unresolved="no-candidate"), 0.5) == -math.inf
    assert log_odds_of(outcome(unresolved="empty"), 0.5) is None
    assert log_odds_of(outcome(cited="w", method="semantic", score=0.9), 0.5) is None


@pytest.mark.parametrize(
    ("citing", "source"),
    [
        ("doi:10.1371/journal.pone.1", "10.1371"),
        ("doi:10.13039.7/x", "10.13039"),
        ("doi:10.1/x", "doi"),
        (f"doi:10.{'9' * 99}/x", "doi"),
        ("pmid:7", "pmid"),
        ("arxiv:1", "arxiv"),
        ("file-7", "other"),
        ("", "other"),
    ],
)
def test_the_source_of_a_paper_is_short(citing: str, source: str) -> None:
    assert source_of(citing) == source


class Judged:
    """Decides references with fixed log-odds under a policy, and records each call."""

    def __init__(self, given_: Sequence[float]) -> None:
        self.given = {f"r{number}": each for number, each in enumerate(given_)}
        self.references = [Reference(id=id_, citing="c", position=1) for id_ in self.given]
        self.calls: list[tuple[int, float]] = []

    def link(self, references: Sequence[Reference], policy: Policy) -> list[Link]:
        self.calls.append((len(references), policy.absent))
        return [self.one(reference.id, policy) for reference in references]

    def one(self, id_: str, policy: Policy) -> Link:
        p, q = (
            round(1 / (1 + math.exp(-each - float(prior(policy.absent)))), 6) for each in (self.given[id_], self.given[id_] - 3)
        )
        cited = {"cited": "w", "method": "semantic"} if p >= policy.accept else {"cited": None, "unresolved": "not-in-catalog"}
        second = Candidate(cited="v", score=0.1, probability=q)
        return Link.made({"reference": id_, "citing": "c", "probability": p, "runner_up": second, **cited})


@settings(max_examples=examples(60))
@given(st.lists(st.floats(-25, 25), max_size=20))
def test_references_are_decided_again_as_if_all_were_decided_under_the_share(given_: list[float]) -> None:
    judged = Judged(given_)
    links, share = link_learnt(judged.link, judged.references, Policy(absent=0.9))
    for link, reference in zip(links, judged.references, strict=True):
        other = judged.one(reference.id, replace(Policy(), absent=max(share, FLOOR)))
        assert (link.cited, link.unresolved) == (other.cited, other.unresolved)
        assert link.probability == pytest.approx(other.probability, abs=3e-5), "only a probability rounded to 0 or 1 may differ"
    first, second = judged.calls
    assert first == (len(given_), 0.5)
    assert second[1] == max(share, FLOOR)


def test_certain_references_are_not_decided_twice() -> None:
    judged = Judged([30.0] * 50 + [-30.0] * 150 + [0.0])
    _, share = link_learnt(judged.link, judged.references, Policy())
    assert 0.7 < share < 0.75
    assert judged.calls[1][0] == 1
