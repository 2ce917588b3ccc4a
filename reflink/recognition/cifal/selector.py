"""The anchor selector: a classifier of tokens that learns the anchors of labelled citations and finds them in any citation."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reflink.recognition.cifal.batches import Batch, rows
from reflink.recognition.cifal.descent import descend
from reflink.recognition.cifal.encoder import Encoder
from reflink.recognition.cifal.finetuning import SIZE, lowered
from reflink.recognition.cifal.pieces import Marks, Pieced

_SIZE: Final = 64


class Selector(nn.Module):
    """A batch of citations → log-odds that each token is an anchor."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder, self.score = encoder, nn.Linear(encoder.size.dim, 1)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)

    def forward(self, batch: Batch, states: Tensor | None = None) -> Tensor:
        """Return log-odds [citations, n]. ``states``: the result of ``encoder.lower``, computed here if None."""
        if states is None:
            states = self.encoder.lower(batch.ids, batch.real)
        states = self.encoder.upper(states, batch.spellings, batch.real)
        odds: Tensor = self.score(states.reshape(-1, states.shape[-1])[batch.places])[..., 0]
        return odds


def fit(
    encoder: Encoder, citations: Sequence[Pieced], anchors: Sequence[frozenset[int]], marks: Marks, *, epochs: int, seed: int
) -> Selector:  # fmt: skip
    """Return a selector that learnt the anchors of these citations, starting from ``encoder``, which stays as it is."""
    device = encoder.words.weight.device
    selector = Selector(copy.deepcopy(encoder)).to(device)
    marked = [
        Pieced(citation.pieces, citation.spellings, tuple(int(at in own) for at in range(len(citation.pieces))))
        for citation, own in zip(citations, anchors, strict=True)
    ]

    def loss(item: tuple[Batch, Tensor]) -> Tensor:
        batch, states = item
        odds = selector(batch, states)[batch.known]
        return functional.binary_cross_entropy_with_logits(odds, batch.labels[batch.known].to(odds.dtype))

    descend(selector, lowered(selector.encoder, marked, marks, device, SIZE, seed), loss, epochs=epochs, seed=seed)
    return selector


@torch.no_grad()
def select(selector: Selector, citations: Sequence[Pieced], marks: Marks) -> list[frozenset[int]]:
    """Return the numbers of the tokens of each citation that are more likely anchors than not."""
    device = selector.encoder.words.weight.device
    found: list[frozenset[int]] = [frozenset()] * len(citations)
    for chosen in rows([citation.length for citation in citations], _SIZE, None):
        batch = Batch.of([citations[row] for row in chosen], marks, device)
        for row, own in zip(chosen, ((selector(batch) > 0) & batch.known).cpu().numpy(), strict=True):
            found[row] = frozenset(np.flatnonzero(own).tolist())
    return found
