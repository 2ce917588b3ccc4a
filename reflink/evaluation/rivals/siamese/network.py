"""The network: embedding, bidirectional LSTM and GRU, max pooling over tokens, dropout, a fully connected layer.

Both texts of a pair pass through the same weights. The similarity of two vectors is exp(-L1), in (0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from reflink.errors import ModelNotFound
from reflink.storage import durable

#: Sizes of papers/001 section 5.1: cells of each direction of both layers, and the dropout after pooling.
UNITS: Final = 50
DROPOUT: Final = 0.15
#: Dimensions of a token's vector. The paper starts from GloVe's 300; without pre-trained vectors 100 are trained here.
WIDTH: Final = 100
#: Dimensions of a text's vector, the output of the fully connected layer; the paper does not state them.
OUTPUT: Final = 50
#: The token number of padding.
PADDING: Final = 0
#: Texts encoded at once outside training.
BATCH: Final = 512

Vectors = NDArray[np.float32]


class Network(nn.Module):
    """Maps texts, as token numbers, to vectors."""

    def __init__(self, tokens: int, width: int = WIDTH) -> None:
        """``tokens``: number of token numbers, the padding's included."""
        super().__init__()
        self.table = nn.Embedding(tokens, width, padding_idx=PADDING)
        self.lstm = nn.LSTM(width, UNITS, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(2 * UNITS, UNITS, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(DROPOUT)
        self.output = nn.Linear(2 * UNITS, OUTPUT)

    def forward(self, texts: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return a vector for each text, [texts, OUTPUT]. No text may be empty. A vector does not depend on the other texts."""
        rows = [torch.tensor(text) for text in texts]
        packed = nn.utils.rnn.pack_sequence(rows, enforce_sorted=False)
        packed = packed._replace(data=self.table(packed.data))
        states = self.gru(self.lstm(packed)[0])[0]
        padded, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, padding_value=-torch.inf)
        vectors: torch.Tensor = self.output(self.dropout(padded.amax(dim=1)))
        return vectors

    def encode(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """Return the vectors of texts without dropout: float32 [texts, OUTPUT]. Texts of similar length share a batch."""
        was_training = self.training
        self.eval()
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found = np.empty((len(texts), OUTPUT), np.float32)
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                found[rows] = self([texts[row] for row in rows]).numpy()
        self.train(was_training)
        return found

    def write(self, path: Path) -> None:
        """Write the weights as a file of arrays, atomically."""
        arrays = {name: value.numpy() for name, value in self.state_dict().items()}
        with durable.replacing(path, path.with_suffix(".partial")) as file:
            np.savez(file, **arrays)

    @classmethod
    def read(cls, path: Path) -> Network:
        """Return the network of a file that `write` wrote. Raises ModelNotFound if the file is absent or of another network."""
        try:
            with np.load(path, allow_pickle=False) as kept:
                state = {name: torch.from_numpy(kept[name]) for name in kept.files}
            made = cls(*state["table.weight"].shape)
            made.load_state_dict(state)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelNotFound(f"{path}: no weights of a Siamese network: {error}") from None
        return made.eval()


def distance(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the L1 distance of the vectors of each pair: [pairs]."""
    return (one - other).abs().sum(dim=-1)


def similarities(one: Vectors, other: Vectors) -> NDArray[np.float64]:
    """Return exp(-L1) of the vectors of each pair, in [0, 1]: 1 for equal vectors. Broadcasts over leading dimensions.

    In double precision, in which distances up to 700 differ in their similarity.
    """
    found: NDArray[np.float64] = np.exp(-np.abs(one - other).sum(axis=-1, dtype=np.float64))
    return found


def cross_entropy(distances: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of exp(-distance) as the probability of a match. ``labels``: 1 for a match, [pairs]."""
    apart = -torch.log(-torch.expm1(-distances.clamp(min=1e-6)))
    return torch.where(labels > 0, distances, apart).mean()
