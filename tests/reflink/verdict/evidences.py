"""Random evidence, and random models with the signs of their features."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from reflink.verdict import Evidence, Model
from reflink.verdict.evidence import COLUMN, Floats
from reflink.verdict.model import CARDS, SUBJECTS, zeros
from reflink.verdict.scorecard import FEATURES

nan = st.just(math.nan)


def rows(evidence: list[Evidence]) -> Floats:
    """Return the evidence of several pairs as an array, float64 [n, len(COLUMN)]."""
    return np.array(evidence, dtype=np.float64).reshape(len(evidence), len(COLUMN))


shares = nan | st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 0.6, 0.75, 0.8, 0.9, 0.97, 1.0])
flags = nan | st.sampled_from([0.0, 1.0])
grades = nan | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
evidences = st.builds(
    Evidence, title=shares, equal=flags, cover=shares, beginning=flags, contained=shares,
    length=st.integers(0, 80).map(float), authors=shares, agreeing=nan | st.floats(0, 40),
    first_author=nan | st.sampled_from([0.0, 0.8, 1.0]), second_author=nan | st.sampled_from([0.0, 0.8, 1.0]),
    group=st.sampled_from([0.0, 1.0]), year=nan | st.integers(0, 300).map(float), volume=grades, page=grades, venue=shares,
    numbers=nan | st.sampled_from([0.0, 1.0, 2.0]), title_year=flags, marks=flags, deposit=flags, identifier=flags,
    bare=st.sampled_from([0.0, 1.0]), card=st.sampled_from([0.0, 1.0, 2.0]),
)  # fmt: skip
SIGNS = np.array([feature.sign for feature in FEATURES])


def model_of(seed: int) -> Model:
    """Return a model of random points with the signs of the features; identifiers count for or against a link."""
    random = np.random.default_rng(seed)
    points, middle = zeros()
    drawn = random.normal(size=(len(CARDS), len(FEATURES)))
    points[:, :-1] = np.where(SIGNS == 0, drawn, SIGNS * np.abs(drawn))
    points[:, -1] = random.normal(size=len(CARDS))
    middle[:] = random.normal(size=(len(CARDS), len(SUBJECTS)))
    return Model.from_dict(Model(points, middle, 5.3, -3.0).to_dict())


#: Plausible points, for tests that use a verdict.
_SENSIBLE = {
    "title_5": 1.0, "title_97": 2.0, "title_equal": 2.0, "cover_97": 2.0, "text_97": 6.0, "authors_9": 2.0,
    "authors_none": -3.0, "first_author_9": 1.0, "first_author_differs": -2.0, "year": 1.5, "year_off_2": -3.0,
    "volume": 1.0, "page": 1.5, "place_year": 4.0, "place_differs": -3.0, "venue_75": 0.5, "marks": -6.0, "numbers_both": -4.0,
}  # fmt: skip


def sensible() -> Model:
    """Return a model of plausible points, equal on each card, which does not change when the shipped one is trained again."""
    points, middle = zeros()
    points[:, :-1] = [_SENSIBLE.get(feature.name, 0.0) for feature in FEATURES]
    points[:, -1] = -8.0
    assert {feature.name for feature in FEATURES} >= _SENSIBLE.keys()
    return Model(points, middle, 5.3, -3.0)


models = st.integers(0, 50).map(model_of)
