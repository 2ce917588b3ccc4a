"""Learn to label citations from few labelled ones; the epoch that labels most tokens of the validation set right is kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor

from reflink.recognition.cifal.batches import Batch, rows
from reflink.recognition.cifal.descent import descend
from reflink.recognition.cifal.encoder import Encoder
from reflink.recognition.cifal.network import Network
from reflink.recognition.cifal.pieces import Marks, Pieced

#: Citations of a step.
SIZE: Final = 16


def lowered(
    encoder: Encoder, citations: Sequence[Pieced], marks: Marks, device: torch.device, size: int, seed: int | None = None
) -> list[tuple[Batch, Tensor]]:
    """Return batches of similar length with their states of the frozen layers, which are the same in every epoch."""
    rng = None if seed is None else np.random.default_rng(seed)
    found = []
    for chosen in rows([citation.length for citation in citations], size, rng):
        batch = Batch.of([citations[row] for row in chosen], marks, device)
        found.append((batch, encoder.lower(batch.ids, batch.real)))
    return found


def finetune(
    encoder: Encoder, task: Sequence[Pieced], validation: Sequence[Pieced], marks: Marks, *, epochs: int, seed: int,
    report: Callable[[str], None] = print,
) -> Network:  # fmt: skip
    """Return a network that learnt from ``task``, starting from ``encoder``, which stays as it is."""
    device = encoder.words.weight.device
    network = Network(copy.deepcopy(encoder), seed).to(device)
    batches = lowered(network.encoder, task, marks, device, SIZE, seed)
    checks = lowered(network.encoder, validation, marks, device, 4 * SIZE)
    best = -1.0
    kept: dict[str, Tensor] = {}

    def loss(item: tuple[Batch, Tensor]) -> Tensor:
        batch, states = item
        return network.crf.loss(network(batch, states), batch.labels, batch.known).mean()

    def ended(epoch: int, mean: float) -> None:
        nonlocal best, kept
        share = accuracy(network, checks)
        report(f"epoch {epoch}: loss {mean:.3f} per citation, {share:.4f} of the tokens of the validation set right")
        if share > best:
            best, kept = share, {name: value.detach().clone() for name, value in network.state_dict().items()}

    descend(network, batches, loss, epochs=epochs, seed=seed, ended=ended)
    network.load_state_dict(kept)
    return network.eval()


@torch.no_grad()
def accuracy(network: Network, batches: Sequence[tuple[Batch, Tensor]]) -> float:
    """Return the share of tokens whose most probable label is the right one."""
    right = count = 0
    for batch, states in batches:
        found = network.crf.marginals(network(batch, states), batch.known).argmax(2)
        right += int(((found == batch.labels) & batch.known).sum())
        count += int(batch.known.sum())
    return right / max(count, 1)
