"""A linear-chain conditional random field over hashed features of the tokens of a citation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from reflink.recognition.features import BITS, features
from reflink.recognition.labels import LABELS
from reflink.recognition.packing import pack, quantised, unpack
from reflink.recognition.summing import row_sums
from reflink.recognition.tagging import Chain, Doubles, Tagging, infer
from reflink.recognition.tokens import Tokens

Floats = np.ndarray[Any, np.dtype[np.float32]]

#: Version written into the weights' file. Increase it when the features, the labels or the file's layout change.
FORMAT: Final = 2
_COUNT: Final = len(LABELS)
_SHAPES: Final = {"weights": (1 << BITS, _COUNT), "steps": (_COUNT, _COUNT), "first": (_COUNT,), "last": (_COUNT,)}


@dataclass(frozen=True)
class HashedTagger:
    """Parameters of the random field.

    ``weights`` float32 [2**BITS, labels]: by feature. ``steps`` float64 [labels, labels]: from a token's label to the next
    token's. ``first`` and ``last`` float64 [labels]: for the first and the last token.
    """

    weights: Floats
    steps: Doubles
    first: Doubles
    last: Doubles

    @property
    def chain(self) -> Chain:
        """Scores of steps, of the first and of the last label."""
        return self.steps, self.first, self.last

    def scores(self, tokens: Tokens) -> Doubles:
        """Return the score of each label for each token, float64 [tokens, labels]."""
        scores: Doubles = row_sums(features(tokens), self.weights).astype(np.float64)
        return scores

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        """Return the labels of a citation of at least one token. The text itself is not used."""
        return infer(self.scores(tokens), *self.chain)

    @classmethod
    def read(cls, data: bytes, name: str) -> Self:
        """Return the tagger that ``to_bytes`` wrote. Raises ModelNotFound if the file is damaged or of another version."""
        found = unpack(data, name, FORMAT, _SHAPES)
        return cls(found.pop("weights"), **{key: part.astype(np.float64) for key, part in found.items()})

    def to_bytes(self) -> bytes:
        """Return the weights' file, with the features' weights in 8 bits. Equal weights give equal bytes."""
        scale = np.array(float(np.abs(self.weights).max()) / 127 or 1.0, dtype=np.float32)
        others = {name: getattr(self, name).astype(np.float32) for name in ("steps", "first", "last")}
        return pack({**quantised("weights", self.weights, scale), **others}, FORMAT)
