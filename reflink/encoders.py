"""Protocols of a sentence encoder; ``reflink.semantic.Encoder`` implements them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Encodes(Protocol):
    """An encoder of texts to vectors."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return L2-normalised vectors, float32 [n, dim], in the order of the texts."""
        ...


class NamedEncoder(Encodes, Protocol):
    """An encoder that names its model, precision, dimensions and separator."""

    @property
    def name(self) -> str:
        """Name of model and weights."""
        ...

    @property
    def precision(self) -> str:
        """Precision of the arithmetic."""
        ...

    @property
    def dim(self) -> int:
        """Number of dimensions of a vector."""
        ...

    @property
    def separator(self) -> str:
        """Separator between the fields of the texts to encode."""
        ...
