"""The network that labels citations: encoder, BiLSTM and CRF (the paper's figure 1)."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from reflink.recognition.cifal.batches import Batch
from reflink.recognition.cifal.crf import Crf
from reflink.recognition.cifal.encoder import Encoder
from reflink.recognition.labels import LABELS

#: Units of the LSTM in each direction.
UNITS: Final = 100
#: Share of the values between encoder, LSTM and CRF that are dropped in training.
DROPOUT: Final = 0.2


class Dropout(nn.Module):
    """Dropout whose random numbers come from a generator of the CPU, so that every device drops the same values."""

    def __init__(self, share: float, seed: int) -> None:
        super().__init__()
        self._share, self._generator = share, torch.Generator().manual_seed(seed)

    def forward(self, values: Tensor) -> Tensor:
        """Return the values, in training with a share of them set to 0 and the others scaled."""
        if not self.training:
            return values
        kept = torch.rand(values.shape, generator=self._generator) >= self._share
        return values * kept.to(values.device) / (1 - self._share)


class Network(nn.Module):
    """A batch of citations → scores of the labels of each token."""

    def __init__(self, encoder: Encoder, seed: int) -> None:
        """Initialise the layers above ``encoder`` from ``seed``."""
        super().__init__()
        self.encoder = encoder
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.lstm = nn.LSTM(encoder.size.dim, UNITS, batch_first=True, bidirectional=True)
            self.scores = nn.Linear(2 * UNITS, len(LABELS))
        self.crf, self.dropout = Crf(len(LABELS)), Dropout(DROPOUT, seed)

    def forward(self, batch: Batch, states: Tensor | None = None) -> Tensor:
        """Return scores [citations, n, labels]. ``states``: the result of ``encoder.lower``, computed here if None."""
        if states is None:
            states = self.encoder.lower(batch.ids, batch.real)
        states = self.encoder.upper(states, batch.spellings, batch.real)
        tokens = self.dropout(states.reshape(-1, states.shape[-1])[batch.places])
        lengths = batch.known.sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(tokens, lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=tokens.shape[1])
        scores: Tensor = self.scores(self.dropout(hidden))
        return scores
