"""A linear-chain CRF over batches, in torch: its likelihood, and the probability of each label of each token."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Crf(nn.Module):
    """Scores ``steps`` [labels, labels] from a token's label to the next token's, ``first`` and ``last`` [labels]."""

    def __init__(self, labels: int) -> None:
        super().__init__()
        self.steps = nn.Parameter(torch.zeros(labels, labels))
        self.first, self.last = nn.Parameter(torch.zeros(labels)), nn.Parameter(torch.zeros(labels))

    def loss(self, scores: Tensor, labels: Tensor, known: Tensor) -> Tensor:
        """Return the negative log-likelihood of each citation, [citations].

        ``scores`` [citations, n, labels]; ``labels`` int64 and ``known`` bool [citations, n], with the known tokens first.
        """
        own = scores.gather(2, labels[..., None])[..., 0]
        pairs = self.steps[labels[:, :-1], labels[:, 1:]]
        ends = labels.gather(1, known.sum(1, keepdim=True) - 1)[:, 0]
        path = (own * known).sum(1) + (pairs * known[:, 1:]).sum(1) + self.first[labels[:, 0]] + self.last[ends]
        return self._forward(scores, known) - path

    def marginals(self, scores: Tensor, known: Tensor) -> Tensor:
        """Return the probability of each label, [citations, n, labels], as the gradient of log Z by the scores."""
        with torch.enable_grad():
            leaf = scores.detach().requires_grad_()
            (found,) = torch.autograd.grad(self._forward(leaf, known).sum(), leaf)
        return found

    def _forward(self, scores: Tensor, known: Tensor) -> Tensor:
        """Return log Z of each citation, [citations]."""
        state = self.first + scores[:, 0]
        for at in range(1, scores.shape[1]):
            onward = torch.logsumexp(state[:, :, None] + self.steps, 1) + scores[:, at]
            state = torch.where(known[:, at, None], onward, state)
        return torch.logsumexp(state + self.last, 1)
