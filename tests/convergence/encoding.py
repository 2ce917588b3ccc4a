"""The real encoder for histories of real articles: what it was asked once it answers from disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reflink.evaluation.run import default_encoder
from tests.convergence.replicas import Spent
from tests.data import CACHE


class KeptEncoder:
    """As the linker expects an encoder to be."""

    device, tokens_read = "cpu", 0

    def __init__(self) -> None:
        self._cached = default_encoder(CACHE / "vectors")
        self.name, self.precision, self.dim = self._cached.name, self._cached.precision, self._cached.dim
        self.separator, self.spent = self._cached.separator, Spent()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Of length 1 each, as float16 has them."""
        return self._cached.encode(texts)


def kept_encoder() -> Any:
    """The default model. Raises ModelNotFound."""
    return KeptEncoder()
