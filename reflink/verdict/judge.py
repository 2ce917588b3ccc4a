"""The judge: what turns the evidence of a pair into a probability and reasons."""

from __future__ import annotations

import json
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from reflink.entities import Reference, Work
from reflink.shipped import read
from reflink.verdict.evidence import Evidence, Floats
from reflink.verdict.model import Model
from reflink.verdict.reasons import reasons


class Verdict(NamedTuple):
    """``probability`` that the reference cites the work, in [0, 1]; ``reasons`` for and against, strongest first."""

    probability: float
    reasons: tuple[str, ...] = ()


class Judge(Protocol):
    """What decides: a Model, or whatever else weighs evidence. Reasons cost as much again, and only a winner needs them."""

    def probabilities(self, rows: Floats, absent: float = 0.5) -> Floats:
        """That the references cite the works, each in [0, 1], of evidence [n, columns]; ``absent``: share without target."""

    def contributions(self, row: Floats) -> dict[str, float]:
        """Log-odds by subject, for (positive) and against."""


@cache
def shipped() -> Model:
    """The model that comes with the package. Raises ModelNotFound when it is not the one of this version."""
    return Model.from_dict(json.loads(read("verdict/model.json")))


def warm() -> None:
    """Loads the shipped model, and compiles what compares, which takes seconds the first time. Raises ModelNotFound."""
    from reflink.verdict.batch import compare_all

    reference, work = Reference(id="warm", citing="warm", position=1, title="Warm"), Work(id="warm", title="Warm")
    shipped().probabilities(compare_all([reference], [work], np.zeros((1, 2), np.int64)))


def judge(evidence: Evidence, model: Judge | None = None) -> Verdict:
    """The verdict on one pair, of the shipped model unless another is given."""
    model, row = model or shipped(), np.array(evidence, dtype=np.float64)
    return Verdict(float(model.probabilities(row[None])[0]), reasons(row, model.contributions(row)))
