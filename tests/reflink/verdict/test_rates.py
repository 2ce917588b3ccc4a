"""The minimum probability of a precision at a share of absent works."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.verdict.rates import Rate, highest, least_for

parts = st.integers(0, 10**6).map(lambda n: n / 10**6)
tables = st.lists(st.tuples(parts, parts, parts), min_size=1, max_size=8).map(
    lambda rows: tuple(Rate(float(at), *row) for at, row in enumerate(rows))
)
shares = st.floats(0.02, 0.98)


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


@given(parts, parts, parts, st.integers(1, 99))
def test_the_precision_is_the_share_of_right_links_in_a_stream(right: float, wrong: float, false: float, absent: int) -> None:
    """Count the links of 100 references, of which ``absent`` have no work in the catalog."""
    links = (100 - absent) * (right + wrong) + absent * false
    expected = (100 - absent) * right / links if links else 0.0
    assert math.isclose(Rate(0.0, right, wrong, false).precision(absent / 100), expected, rel_tol=1e-9, abs_tol=1e-12)


@given(tables, st.floats(0.5, 1), shares)
def test_the_probability_for_a_precision_is_the_lowest_that_has_it(
    table: tuple[Rate, ...], precision: float, absent: float
) -> None:
    reached = [rate.precision(absent) for rate in table]
    good = [rate.least for rate, value in zip(table, reached, strict=True) if value >= precision]
    least = log_odds(least_for(table, precision, absent)) - math.log((1 - absent) / absent)
    if good:
        assert math.isclose(least, good[0], abs_tol=1e-6)
    else:
        assert math.isclose(reached[round(least)], max(reached))
    assert highest(table, absent) == max(reached)


@given(tables, shares, shares)
def test_more_absent_works_lower_the_precision(table: tuple[Rate, ...], a: float, b: float) -> None:
    few, many = sorted((a, b))
    for rate in table:
        if rate.false >= rate.wrong:
            assert rate.precision(many) <= rate.precision(few) + 1e-12


def test_a_model_without_measurements_has_no_precision() -> None:
    assert highest((), 0.5) == 0
    with pytest.raises(ValueError, match="no measured precision"):
        least_for((), 0.5, 0.5)
