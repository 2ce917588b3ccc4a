"""What a sentence encoder is to those who use one; ``reflink.semantic.Encoder`` is the real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Encodes(Protocol):
    """Texts to vectors."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised [n, dim], in the order of the texts."""
        ...


class NamedEncoder(Encodes, Protocol):
    """One that says whose vectors it makes."""

    @property
    def name(self) -> str:
        """Model and weights in one word."""
        ...

    @property
    def precision(self) -> str:
        """Arithmetic of the encoding."""
        ...

    @property
    def dim(self) -> int:
        """Dimensions of the vectors."""
        ...

    @property
    def separator(self) -> str:
        """What stands between the fields of the texts that it is to encode."""
        ...
