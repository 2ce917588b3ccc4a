"""The task-guided stage: the encoder learns to predict the masked words of generated citations (section 2.1).

Anchor masking masks a citation's anchors, and random words up to a share of all. Random masking, of the ablation, masks as many
words of any kind. All pieces of a word are masked together.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reflink.recognition.cifal.batches import Batch, rows
from reflink.recognition.cifal.descent import descend
from reflink.recognition.cifal.encoder import Encoder
from reflink.recognition.cifal.pieces import Marks, Pieced

#: Share of the words of a citation that are masked, if it does not have more anchors than that.
SHARE: Final = 0.15
#: Citations of a step (the paper's).
SIZE: Final = 32


class Masked(nn.Module):
    """States → scores of the words of the vocabulary, by the encoder's own vectors of the words.

    MiniLM comes without such a layer; the transformation starts as the identity and is learnt in this stage.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.turn = nn.Linear(encoder.size.dim, encoder.size.dim)
        nn.init.eye_(self.turn.weight)
        nn.init.zeros_(self.turn.bias)
        self.norm = nn.LayerNorm(encoder.size.dim)
        self.bias = nn.Parameter(torch.zeros(encoder.size.words))

    def forward(self, batch: Batch, masked: Tensor) -> Tensor:
        """Return scores [pieces, words] of the pieces that are True in ``masked`` bool [windows, pieces]."""
        states = self.encoder.lower(batch.ids, batch.real)
        states = self.encoder.upper(states, batch.spellings, batch.real)[masked]
        return functional.linear(self.norm(self.turn(states)), self.encoder.words.weight, self.bias)


def chosen(citation: Pieced, anchors: frozenset[int], by_anchors: bool, rng: np.random.Generator) -> frozenset[int]:
    """Return the numbers of the tokens to mask."""
    size = len(citation.pieces)
    count = min(max(len(anchors), round(SHARE * size), 1), size)
    kept = anchors if by_anchors else frozenset[int]()
    others = [at for at in range(size) if at not in kept]
    return kept | frozenset(rng.choice(others, count - len(kept), replace=False).tolist() if count > len(kept) else ())


def hidden(citation: Pieced, masked: frozenset[int], mask: int) -> Pieced:
    """Return the citation with the piece ``mask`` in place of every piece of the masked tokens."""
    pieces = tuple((mask,) * len(own) if at in masked else own for at, own in enumerate(citation.pieces))
    return Pieced(pieces, citation.spellings, citation.labels)


def guide(
    encoder: Encoder, citations: Sequence[Pieced], anchors: Sequence[frozenset[int]], marks: Marks, *, by_anchors: bool,
    epochs: int, seed: int, report: Callable[[str], None] = print,
) -> Encoder:  # fmt: skip
    """Return an encoder that learnt to predict the masked words of ``citations``; ``encoder`` stays as it is."""
    device = encoder.words.weight.device
    masked = Masked(copy.deepcopy(encoder)).to(device)
    rng = np.random.default_rng(seed)
    recent: list[float] = []

    def loss(own: list[int]) -> Tensor:
        whole = Batch.of([citations[row] for row in own], marks, device)
        less = [hidden(citations[row], chosen(citations[row], anchors[row], by_anchors, rng), marks.mask) for row in own]
        batch = Batch.of(less, marks, device)
        places = batch.ids == marks.mask
        value = functional.cross_entropy(masked(batch, places), whole.ids[places])
        recent.append(value.item())
        if len(recent) % 25 == 0:
            report(f"step {len(recent)}: loss {np.mean(recent[-25:]):.3f} per masked piece")
        return value

    order = list(rows([citation.length for citation in citations], SIZE, np.random.default_rng(seed)))
    descend(masked, order, loss, epochs=epochs, seed=seed)
    return masked.encoder
