"""Intervals of a proportion against published limits and scipy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reflink.evaluation.proportions import beta_share, jeffreys, wilson
from tests.profiles import examples

LEVEL = st.sampled_from([0.5, 0.9, 0.95, 0.99])


def test_the_limits_are_those_that_paper_003_publishes() -> None:
    """Its Table 3: 297 of 300."""
    published = {
        (wilson, 0.99): (0.9613, 0.9975), (jeffreys, 0.99): (0.9666, 0.9983),
        (wilson, 0.95): (0.9710, 0.9966), (jeffreys, 0.95): (0.9736, 0.9972),
    }  # fmt: skip
    for (method, level), limits in published.items():
        assert tuple(round(limit, 4) for limit in method(297, 300, level)) == limits


@settings(max_examples=examples(100))
@given(st.integers(0, 400), st.integers(0, 400), LEVEL)
def test_jeffreys_interval_has_the_quantiles_of_the_beta_distribution(hits: int, more: int, level: float) -> None:
    low, high = jeffreys(hits, hits + more, level)
    beta = stats.beta(hits + 0.5, more + 0.5)
    assert low == pytest.approx(beta.ppf((1 - level) / 2) if hits else 0, abs=2e-6)
    assert high == pytest.approx(beta.ppf((1 + level) / 2) if more else 1, abs=2e-6)


@settings(max_examples=examples(100))
@given(st.integers(0, 400), st.integers(1, 400), LEVEL)
def test_wilsons_interval_is_scipys(hits: int, more: int, level: float) -> None:
    expected = stats.binomtest(hits, hits + more).proportion_ci(level, "wilson")
    assert wilson(hits, hits + more, level) == pytest.approx([expected.low, expected.high], abs=2e-6)


@settings(max_examples=examples(100))
@given(st.floats(0.01, 3000), st.floats(0.01, 3000), st.floats(0, 1))
def test_the_incomplete_beta_function_is_scipys(a: float, b: float, x: float) -> None:
    assert beta_share(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-9)


def test_without_observations_nothing_is_known() -> None:
    assert wilson(0, 0) == jeffreys(0, 0) == [0.0, 1.0]


@given(st.integers(0, 500), st.integers(0, 500))
def test_an_interval_contains_the_share_and_a_higher_level_is_wider(hits: int, more: int) -> None:
    for method in (wilson, jeffreys):
        low, high = method(hits, hits + more)
        assert 0 <= low <= high <= 1
        if hits + more:
            assert low - 1e-6 <= hits / (hits + more) <= high + 1e-6
        wide = method(hits, hits + more, 0.99)
        assert wide[0] <= low <= high <= wide[1]
