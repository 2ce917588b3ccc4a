"""The verdict's model: four scorecards, one for each kind of reference, and the meaning of their sums (model.json).

The points of the metadata are trained on references whose target is known by identifier (reflink.evaluation.training).
Identifiers themselves therefore cannot be trained; their two weights are constants, explained in that module.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from reflink.errors import BadRecord
from reflink.verdict.evidence import COLUMN, Evidence, Floats
from reflink.verdict.kernels.points import by_subject, log_odds
from reflink.verdict.rates import Rate
from reflink.verdict.scorecard import FEATURES

#: Names of the cards, by the fields that a reference has: TITLED, TAGGED, WRITTEN, UNTITLED of reflink.verdict.evidence.
CARDS: Final = ("titled", "tagged", "written", "untitled")
SUBJECTS: Final = tuple(sorted({feature.subject for feature in FEATURES}))
_SUBJECT: Final = np.array([SUBJECTS.index(feature.subject) for feature in FEATURES])
_FURTHEST: Final = 30.0
_DECIMALS: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Scorecards with their calibration.

    ``points`` float64 [cards, features + 1]: log-odds that each feature adds if it holds, the intercept last.
    ``middle`` float64 [cards, subjects]: a subject's score halfway between right and wrong pairs; a higher score speaks for a
    link, a lower one against it. ``identifier`` and ``contradiction``: log-odds of a shared and of a contradicted identifier.
    ``rates``: rates of right, wrong and false links by minimum log-odds, ascending (reflink.verdict.rates).
    """

    points: Floats
    middle: Floats
    identifier: float
    contradiction: float
    rates: tuple[Rate, ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the model that ``to_dict`` wrote. Raises BadRecord if it was trained on other features or cards."""
        points, middle = zeros()
        known = {feature.name for feature in FEATURES}
        cards = data.get("cards", {})
        if (
            data.get("features") != len(FEATURES)
            or not {*CARDS} <= {*cards}
            or any(not set(card["points"]) <= known for card in cards.values())
        ):
            raise BadRecord("the verdict's model was trained on other features: train it again with this version")
        for at, name in enumerate(CARDS):
            card = cards[name]
            points[at] = [*(float(card["points"].get(feature.name, 0.0)) for feature in FEATURES), float(card["intercept"])]
            middle[at] = [float(card["middle"].get(subject, 0.0)) for subject in SUBJECTS]
        rates = tuple(Rate(*map(float, row)) for row in data.get("rates", ()))
        return cls(
            points, middle, float(data["identifier"]), float(data["contradiction"]), rates, dict(data.get("training", {}))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON data: points by feature name, rounded to 4 decimals, without those that are 0."""
        cards: dict[str, Any] = {}
        for at, name in enumerate(CARDS):
            given = {f.name: _rounded(p) for f, p in zip(FEATURES, self.points[at, :-1], strict=True) if _rounded(p)}
            middle = {subject: _rounded(value) for subject, value in zip(SUBJECTS, self.middle[at], strict=True)}
            cards[name] = {"intercept": _rounded(self.points[at, -1]), "points": given, "middle": middle}
        return {
            "features": len(FEATURES), "cards": cards, "identifier": self.identifier, "contradiction": self.contradiction,
            "rates": [list(rate) for rate in self.rates], "training": dict(self.training),
        }  # fmt: skip

    def log_odds(self, rows: Floats, absent: float | Floats = 0.5) -> Floats:
        """Return the natural logarithm of the odds that the reference cites the work, [n], for evidence [n, columns].

        ``absent``: share of references whose work is not in the catalog, one for all rows or one for each, [n].
        """
        odds = log_odds(rows, self.points)
        identifier = rows[:, COLUMN["identifier"]]
        known = ~np.isnan(identifier)
        odds[known] += np.where(identifier[known] > 0, self.identifier, self.contradiction)
        bare = rows[:, COLUMN["bare"]] > 0  # the identifier alone decides
        odds[bare] = np.where(identifier[bare] > 0, self.identifier, -self.identifier)
        return np.asarray(odds + prior(absent))

    def probabilities(self, rows: Floats, absent: float | Floats = 0.5) -> Floats:
        """Return the same as `log_odds`, as probabilities in (0, 1)."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.log_odds(rows, absent), -_FURTHEST, _FURTHEST))))

    def probability(self, evidence: Evidence) -> float:
        """Return the probability of one pair."""
        return float(self.probabilities(np.array([evidence]))[0])

    def contributions(self, row: Floats) -> dict[str, float]:
        """Return the log-odds for (positive) and against (negative) a pair by subject, from its evidence [columns].

        With ``base`` they add up to the log-odds, except for a reference that has only an identifier.
        """
        card = int(row[COLUMN["card"]])
        sums = by_subject(row, self.points, _SUBJECT, len(SUBJECTS)) - self.middle[card]
        given = dict(zip(SUBJECTS, sums.tolist(), strict=True))
        if not math.isnan(identifier := row[COLUMN["identifier"]]):
            given["identifier"] = self.identifier if identifier > 0 else self.contradiction
        return given

    def base(self, card: int) -> float:
        """Return the log-odds of a pair on that card for which every contribution is 0."""
        return float(self.points[card, -1] + self.middle[card].sum())


def prior(absent: float | Floats) -> Floats:
    """Return the log-odds to add for a share ``absent`` of references without target; the model is calibrated at one half.

    Takes and returns one value or an array. Raises ValueError if a share is not between 0 and 1.
    """
    shares = np.asarray(absent, np.float64)
    if not ((shares > 0) & (shares < 1)).all():
        raise ValueError(f"the share of absent references is between 0 and 1, not {absent}")
    return np.asarray(np.log((1 - shares) / shares))


def _rounded(value: Any) -> float:
    return round(float(value), _DECIMALS)


def zeros() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points and middle of an untrained model: zeros."""
    return np.zeros((len(CARDS), len(FEATURES) + 1)), np.zeros((len(CARDS), len(SUBJECTS)))
