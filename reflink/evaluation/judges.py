"""Selects the model that judges a reference in an evaluation: a model that was not trained on its citing paper."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

import orjson

from reflink.verdict import Model
from reflink.verdict.judge import shipped


class HeldOut:
    """Five models beside the shipped one, each trained without a fifth of the citing papers (reflink.evaluation.training)."""

    def __init__(self, models: Mapping[str, Model], otherwise: Model) -> None:
        self._models, self._otherwise = models, otherwise

    @classmethod
    def shipped(cls) -> HeldOut:
        """Return the models that come with the package.

        The shipped model judges a paper that is in no model's list, because no model was trained on it.
        """
        models: dict[str, Model] = {}
        for fold in orjson.loads(resources.files("reflink.verdict").joinpath("folds.json").read_bytes())["folds"]:
            model = Model.from_dict(fold["model"])
            models |= dict.fromkeys(fold["papers"], model)
        return cls(models, shipped())

    def of(self, citing: str) -> Model:
        """Return the model that judges this paper's references."""
        return self._models.get(citing, self._otherwise)

    def is_known(self, citing: str) -> bool:
        """Return whether the shipped model was trained on this paper."""
        return citing in self._models
