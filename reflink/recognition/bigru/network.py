"""The BiGRU-CRF: its parameters, their file, and inference.

For a token with embedding x (the sum of its rows of the table) and the state h of its neighbour, a direction computes
r = s(A x + a + R h + b), z likewise, n = tanh(A' x + a' + r (R' h + b')) and its new state (1 - z) n + z h, where s is the
logistic function. Both directions' states give the scores of the labels, and a linear chain gives their probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np

from reflink.recognition.bigru.encoding import TOTAL, encode
from reflink.recognition.bigru.kernel import hidden_states
from reflink.recognition.labels import LABELS
from reflink.recognition.packing import pack, quantised, unpack
from reflink.recognition.summing import row_sums
from reflink.recognition.tagging import Chain, Doubles, Tagging, infer
from reflink.recognition.tokens import Tokens

Floats = np.ndarray[Any, np.dtype[np.float32]]

#: Version written into the file. Increase it when the encoding, the labels or the file's layout change.
FORMAT: Final = 1
#: Dimensions of the embeddings, and units of each direction (papers/001 section 5.1: 50).
WIDTH: Final = 64
UNITS: Final = 50
_COUNT: Final = len(LABELS)
#: Rows of one product. OpenBLAS computes a product of more than 2¹⁸ multiplications on several threads: it takes twice the
#: processor time and, on a busy machine, twice the time.
_ROWS: Final = 2**18 // (WIDTH * 6 * UNITS)
_SHAPES: Final[dict[str, tuple[int, ...]]] = {
    "table": (TOTAL, WIDTH), "inputs": (WIDTH, 6 * UNITS), "input_bias": (6 * UNITS,), "states": (2, UNITS, 3 * UNITS),
    "state_bias": (2, 3 * UNITS), "output": (2 * UNITS, _COUNT), "output_bias": (_COUNT,), "steps": (_COUNT, _COUNT),
    "first": (_COUNT,), "last": (_COUNT,),
}  # fmt: skip


@dataclass(frozen=True)
class Network:
    """Parameters, float32, with shapes as in ``_SHAPES``: of the two directions, forward comes first; of gates, r, z, n."""

    table: Floats
    inputs: Floats
    input_bias: Floats
    states: Floats
    state_bias: Floats
    output: Floats
    output_bias: Floats
    steps: Floats
    first: Floats
    last: Floats

    @property
    def chain(self) -> Chain:
        """Scores of steps, of the first and of the last label."""
        return self.steps.astype(np.float64), self.first.astype(np.float64), self.last.astype(np.float64)

    def scores(self, tokens: Tokens) -> Doubles:
        """Return the score of each label for each token, float64 [tokens, labels]."""
        embedded = row_sums(encode(tokens), self.table)
        parts = [embedded[at : at + _ROWS] @ self.inputs for at in range(0, len(embedded), _ROWS)]
        projected = np.concatenate(parts) + self.input_bias
        states = hidden_states(projected, self.states, self.state_bias)
        scores: Doubles = (states @ self.output + self.output_bias).astype(np.float64)
        return scores

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        """Return the labels of a citation of at least one token. The text itself is not used."""
        return infer(self.scores(tokens), *self.chain)

    @classmethod
    def read(cls, data: bytes, name: str) -> Self:
        """Return the network that ``to_bytes`` wrote. Raises ModelNotFound if the file is damaged or of another version."""
        return cls(**unpack(data, name, FORMAT, _SHAPES))

    def to_bytes(self) -> bytes:
        """Return the file, with matrices in 8 bits and a scale per column. Equal weights give equal bytes."""
        arrays: dict[str, Any] = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if part.name in ("table", "inputs", "states", "output"):
                scale = np.maximum(np.abs(value).max(axis=-2, keepdims=True), 1e-9) / np.float32(127)
                arrays |= quantised(part.name, value, scale)
            else:
                arrays[part.name] = value
        return pack(arrays, FORMAT)
