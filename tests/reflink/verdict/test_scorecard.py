"""Features hold if their conditions hold, and have the signs of their meaning."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reflink.verdict import Evidence
from reflink.verdict.evidence import COLUMN
from reflink.verdict.scorecard import BOUNDS, COLUMNS, FEATURES, SILENT, Feature, features
from tests.reflink.verdict.evidences import evidences, rows


def holds(feature: Feature, found: Evidence) -> bool:
    """The plain definition: all conditions are met, no NaN meets one, and the columns that must be NaN are NaN."""
    met = all(low <= getattr(found, column) <= high for column, low, high in feature.conditions)
    return met and all(math.isnan(getattr(found, column)) for column in feature.silent)


@given(st.lists(evidences, max_size=4))
def test_a_feature_holds_if_its_conditions_hold(found: list[Evidence]) -> None:
    expected = [[holds(feature, each) for feature in FEATURES] for each in found]
    assert features(rows(found)).tolist() == expected


@given(evidences)
def test_the_tables_of_columns_and_bounds_equal_the_features(found: Evidence) -> None:
    row = np.array(found)
    for at, feature in enumerate(FEATURES):
        met = all(
            low <= row[column] <= high
            for column, (low, high) in zip(COLUMNS[at].tolist(), BOUNDS[at].tolist(), strict=True)
            if column >= 0
        )
        assert holds(feature, found) == (met and (SILENT[at] < 0 or math.isnan(row[SILENT[at]]))), feature.name


def test_each_feature_has_a_unique_name_and_conditions_on_known_columns() -> None:
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)
    for feature in FEATURES:
        assert feature.sign in (-1, 0, 1)
        assert feature.least == 0 or (feature.least > 0 and feature.sign), "a feature with a minimum has a sign"
        assert feature.conditions or feature.silent
        assert {column for column, _, _ in feature.conditions} | set(feature.silent) <= set(COLUMN)
        assert len(feature.silent) <= 1
        assert all(low <= high for _, low, high in feature.conditions)


def test_each_feature_can_hold_and_can_fail() -> None:
    zeros = dict.fromkeys(COLUMN, 0.0)
    for at, feature in enumerate(FEATURES):
        met = {column: min(max(low, 0.0), high) for column, low, high in feature.conditions}
        assert features(rows([Evidence(**met)]))[0, at], feature.name
        for column, low, high in feature.conditions:
            for outside in (math.nextafter(low, -math.inf), math.nextafter(high, math.inf), math.nan):
                assert not features(rows([Evidence(**{**met, column: outside})]))[0, at], feature.name
        for column in feature.silent:
            assert not features(rows([Evidence(**{**zeros, **met})]))[0, at], (feature.name, column)


def test_the_name_of_a_step_is_its_lower_bound() -> None:
    (step,) = (feature for feature in FEATURES if feature.name == "title_97")
    assert step == Feature("title_97", "title", 1, (("title", 0.97, step.conditions[0][2]),))
    assert holds(step, Evidence(title=0.97))
    assert not holds(step, Evidence(title=math.nextafter(0.97, 0)))
