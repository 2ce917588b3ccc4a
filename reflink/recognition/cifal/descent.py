"""Gradient descent (AdamW) with a rate for the encoder's layers and a larger one for everything that was not pretrained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

#: Maximum rate of the layers of the encoder, and of all other parameters.
RATE: Final = 5e-4
NEW_RATE: Final = 4e-3
#: Share of the steps in which the rates rise from 0; afterwards they fall to 0.
WARM: Final = 0.1
DECAY: Final = 0.01
#: Maximum norm of a gradient.
CLIP: Final = 1.0

Item = TypeVar("Item")


def descend(
    module: nn.Module, items: Sequence[Item], loss: Callable[[Item], Tensor], *, epochs: int, seed: int,
    ended: Callable[[int, float], None] | None = None,
) -> None:  # fmt: skip
    """Minimise the ``loss`` of the items, one step per item, in a random order that ``seed`` decides.

    ``ended`` receives the number of each epoch, from 1, and its mean loss.
    """
    learnt = {name: value for name, value in module.named_parameters() if value.requires_grad}
    encoder = [value for name, value in learnt.items() if name.startswith("encoder.layers.")]
    new = [value for name, value in learnt.items() if not name.startswith("encoder.layers.")]
    optimiser = torch.optim.AdamW(
        [{"params": encoder, "lr": RATE}, {"params": new, "lr": NEW_RATE}], weight_decay=DECAY, betas=(0.9, 0.98)
    )
    total = epochs * len(items)
    warm = max(1, round(WARM * total))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, (total - step) / max(total - warm, 1))
    )
    rng = np.random.default_rng(seed)
    for epoch in range(epochs):
        module.train()
        losses = []
        for at in rng.permutation(len(items)).tolist():
            optimiser.zero_grad(set_to_none=True)
            value = loss(items[at])
            value.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(encoder + new, CLIP)
            optimiser.step()
            schedule.step()
            losses.append(value.item())
        module.eval()
        if ended is not None:
            ended(epoch + 1, float(np.mean(losses)))
