"""From evidence to a probability with reasons: a logistic regression whose every weight can be read (model.json).

The weights of the metadata are trained on references whose target is known by identifier (reflink.evaluation.training), so
identifiers themselves cannot be trained on; their two weights are stated in the model and explained there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import mul
from typing import Any, Final, NamedTuple, Protocol, Self

from reflink.errors import BadRecord
from reflink.shipped import read
from reflink.verdict.evidence import FEATURES, LEFT_OUT, Evidence, features
from reflink.verdict.reasons import reasons

#: More than sums of a few log-odds differ in any order.
_ROUNDING: Final = 1e-9


class Verdict(NamedTuple):
    """``probability`` that the reference cites the work, in [0, 1]; ``reasons`` for and against, strongest first."""

    probability: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Model:
    """Logistic regression over standardised features: ``sum(weight * (x - mean) / scale) + intercept`` are log-odds.

    ``identifier`` and ``contradiction`` are the log-odds that a shared or a contradicted identifier adds.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weight: tuple[float, ...]
    intercept: float
    identifier: float
    contradiction: float
    slopes: tuple[float, ...] = ()
    base: float = 0.0
    #: Log-odds that what an outline leaves out can add at most.
    headroom: float = 0.0

    def __post_init__(self) -> None:
        slopes = tuple(w / s for w, s in zip(self.weight, self.scale, strict=True))
        object.__setattr__(self, "slopes", slopes)
        object.__setattr__(self, "base", self.intercept - sum(map(mul, slopes, self.mean)))
        left_out = (slope for name, slope in zip(FEATURES, slopes, strict=True) if name in LEFT_OUT)
        object.__setattr__(self, "headroom", sum(max(0.0, slope) for slope in left_out) + _ROUNDING)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Reads what ``to_dict`` wrote. Raises BadRecord when the features are not those of this version."""
        if tuple(data["features"]) != FEATURES:
            raise BadRecord("the verdict's model was trained on other features: train it again with this version")
        mean, scale, weight = (tuple(map(float, data[name])) for name in ("mean", "scale", "weight"))
        intercept, identifier, contradiction = (float(data[name]) for name in ("intercept", "identifier", "contradiction"))
        return cls(mean, scale, weight, intercept, identifier, contradiction)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, rounded to 6 decimals."""

        def rounded(values: Sequence[float]) -> list[float]:
            return [round(value, 6) for value in values]

        return {
            "features": list(FEATURES), "mean": rounded(self.mean), "scale": rounded(self.scale),
            "weight": rounded(self.weight), "intercept": round(self.intercept, 6), "identifier": self.identifier,
            "contradiction": self.contradiction,
        }  # fmt: skip

    def log_odds(self, evidence: Evidence) -> float:
        """Natural logarithm of the odds that the reference cites the work."""
        if evidence.bare:  # nothing to hold against or for the identifier
            return self.identifier if evidence.identifier else -self.identifier
        odds: float = self.base + sum(map(mul, self.slopes, features(evidence)))
        return odds + self._of_identifier(evidence)

    def probability(self, evidence: Evidence) -> float:
        """The same as a probability in (0, 1)."""
        return _probability(self.log_odds(evidence))

    def at_most(self, outline: Evidence) -> float:
        """The probability that evidence with this outline has at most."""
        return _probability(self.log_odds(outline) + self.headroom)

    def contributions(self, evidence: Evidence) -> dict[str, float]:
        """Log-odds by feature, against a silent record; ``identifier`` too where one was compared."""
        given = dict(zip(FEATURES, map(mul, self.slopes, features(evidence)), strict=True))
        if evidence.identifier is not None:
            given["identifier"] = self._of_identifier(evidence)
        return given

    def reasons(self, evidence: Evidence) -> tuple[str, ...]:
        """What speaks for and against, strongest first."""
        return reasons(evidence, list(map(mul, self.slopes, features(evidence))), self._of_identifier(evidence))

    def judge(self, evidence: Evidence) -> Verdict:
        """Probability and reasons."""
        return Verdict(self.probability(evidence), self.reasons(evidence))

    def _of_identifier(self, evidence: Evidence) -> float:
        if evidence.identifier is None:
            return 0.0
        return self.identifier if evidence.identifier else self.contradiction


class Judge(Protocol):
    """What decides: a Model, or whatever else weighs evidence. Reasons cost as much again, and only a winner needs them."""

    def probability(self, evidence: Evidence) -> float:
        """That the reference cites the work, in [0, 1]."""

    def at_most(self, outline: Evidence) -> float:
        """The probability that evidence with this outline has at most; 1 is always right."""

    def reasons(self, evidence: Evidence) -> tuple[str, ...]:
        """What speaks for and against, strongest first."""


def _probability(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


@cache
def shipped() -> Model:
    """The model that comes with the package. Raises ModelNotFound when it is not the one of this version."""
    return Model.from_dict(json.loads(read("verdict/model.json")))


def judge(evidence: Evidence) -> Verdict:
    """The verdict of the shipped model on one pair."""
    return shipped().judge(evidence)
