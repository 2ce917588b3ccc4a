"""The judge: turns the evidence of a pair into a probability and reasons."""

from __future__ import annotations

import json
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from reflink.entities import Reference, Work
from reflink.shipped import read
from reflink.verdict.batch import compare_all
from reflink.verdict.evidence import Evidence, Floats
from reflink.verdict.model import Model
from reflink.verdict.reasons import reasons


class Verdict(NamedTuple):
    """``probability`` that the reference cites the work, in [0, 1]; ``reasons`` for and against, strongest first."""

    probability: float
    reasons: tuple[str, ...] = ()


class Judge(Protocol):
    """Interface of a model that weighs evidence, such as Model.

    Reasons cost as much as a probability; only the chosen candidate needs them.
    """

    def probabilities(self, rows: Floats, absent: float | Floats = 0.5) -> Floats:
        """Return the probabilities in [0, 1], [n], that the references cite the works, for evidence [n, columns].

        ``absent``: share of references whose work is not in the catalog, one for all rows or one for each, [n].
        """

    def contributions(self, row: Floats) -> dict[str, float]:
        """Return the log-odds that each subject contributes for (positive) or against (negative) a pair."""


@cache
def shipped() -> Model:
    """Return the model that comes with the package. Raises ModelNotFound if it does not belong to this version."""
    return Model.from_dict(json.loads(read("verdict/model.json")))


def warm() -> None:
    """Load the shipped model and compile the kernels, which takes seconds the first time. Raises ModelNotFound."""
    reference, work = Reference(id="warm", citing="warm", position=1, title="Warm"), Work(id="warm", title="Warm")
    rows = compare_all([reference], [work], np.zeros((1, 2), np.int64))
    shipped().probabilities(rows)
    shipped().contributions(rows[0])


def judge(evidence: Evidence, model: Judge | None = None) -> Verdict:
    """Return the verdict on one pair, by the shipped model unless another is given."""
    model, row = model or shipped(), np.array(evidence, dtype=np.float64)
    return Verdict(float(model.probabilities(row[None])[0]), reasons(evidence, model.contributions(row)))
