"""Which model may judge a reference in an evaluation: one that was not trained on its citing paper."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

import orjson

from reflink.verdict import Model
from reflink.verdict.judge import shipped


class HeldOut:
    """The shipped model's five siblings, each trained without a fifth of the citing papers (reflink.evaluation.training)."""

    def __init__(self, models: Mapping[str, Model], otherwise: Model) -> None:
        self._models, self._otherwise = models, otherwise

    @classmethod
    def shipped(cls) -> HeldOut:
        """Those that come with the package. A paper in none of their lists was never trained on: the shipped model judges."""
        models: dict[str, Model] = {}
        for fold in orjson.loads(resources.files("reflink.verdict").joinpath("folds.json").read_bytes())["folds"]:
            model = Model.from_dict(fold["model"])
            models |= dict.fromkeys(fold["papers"], model)
        return cls(models, shipped())

    def of(self, citing: str) -> Model:
        """The judge of this paper's references."""
        return self._models.get(citing, self._otherwise)

    def is_known(self, citing: str) -> bool:
        """Whether the shipped model was trained on this paper."""
        return citing in self._models
