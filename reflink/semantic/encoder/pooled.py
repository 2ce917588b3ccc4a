"""The backend of transformers other than plain BERT: their own forward pass on texts padded to the longest, with a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from reflink.semantic.encoder.model import Pooling
from reflink.semantic.encoder.precision import DTYPES, Precision
from reflink.semantic.encoder.tokens import Integers


class Padded:
    """Token ids → one vector per text, float32, not normalised. Pooling is computed in float32."""

    #: The cost of a batch is its longest text × the number of texts.
    padded = True

    def __init__(self, transformer: Any, pooling: Pooling, device: str, precision: Precision, padding: int) -> None:
        """Prepare ``transformer``, a float32 model of transformers; ``padding`` is the token that pads shorter texts."""
        self.device = torch.device(device)
        self.dim = int(transformer.config.hidden_size)
        # On a GPU converting all weights (to fp16) is fastest; on a CPU autocast keeps normalisations and sums in float32.
        whole = self.device.type != "cpu"
        self._autocast = not whole and precision != "fp32"
        self._dtype = DTYPES[precision]
        self._transformer = transformer.eval().to(self.device, self._dtype if whole else torch.float32)
        self._pooling, self._padding = pooling.kind, padding

    def __call__(self, ids: Integers, lengths: Integers) -> Tensor:
        """Return vectors [n, dim] of texts of these lengths, concatenated in ``ids``."""
        used = np.arange(lengths.max()) < lengths[:, None]
        padded = np.full(used.shape, self._padding, np.int64)
        padded[used] = ids
        mask = torch.from_numpy(used).to(self.device)
        with torch.autocast(self.device.type, self._dtype, enabled=self._autocast):
            states = self._transformer(
                input_ids=torch.from_numpy(padded).to(self.device), attention_mask=mask.long()
            ).last_hidden_state
        return self._pool(states.float(), mask[..., None])

    def _pool(self, states: Tensor, mask: Tensor) -> Tensor:
        if self._pooling == "cls":
            return states[:, 0]
        if self._pooling == "max":
            return states.masked_fill(~mask, -torch.inf).amax(1)
        return (states * mask).sum(1) / mask.sum(1).clamp(min=1)
