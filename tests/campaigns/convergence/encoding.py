"""The real encoder for histories of real articles, with a cache of its vectors on disk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reflink.evaluation.run import default_encoder
from tests.campaigns.convergence.replicas import Spent
from tests.data import CACHE


class CachedEncoder:
    """The cached default encoder with the interface that the linker expects. Raises ModelNotFound."""

    device, tokens_read = "cpu", 0

    def __init__(self) -> None:
        self._cached = default_encoder(CACHE / "vectors")
        self.name, self.precision, self.dim = self._cached.name, self._cached.precision, self._cached.dim
        self.separator, self.spent = self._cached.separator, Spent()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text, of norm 1 and rounded to float16."""
        return self._cached.encode(texts)
