"""Learn the weights of the hashed CRF: AdaGrad on the conditional likelihood, one citation at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from reflink.compiled import compiled
from reflink.recognition.crf import HashedTagger
from reflink.recognition.features import BITS, Indices
from reflink.recognition.labels import LABELS
from reflink.recognition.tagging import messages

#: AdaGrad's initial step size; it decreases linearly towards 0 over the epochs.
RATE: Final = 0.12
#: Initial sum of squared gradients: limits the first step of each weight.
SQUARE: Final = 0.3
#: Weight decay of the features that occur in a citation, as a share of each weight.
DECAY: Final = 1e-5
#: Share of a token's features that are dropped at each step, so that no few features decide alone.
DROPOUT: Final = 0.3
#: Gradients of smaller absolute value are skipped.
_TINY: Final = 1e-4

#: Constants of a linear congruential generator: its numbers do not depend on the version of any library.
_STEP: Final = np.uint64(6364136223846793005)
_ADD: Final = np.uint64(1442695040888963407)
_HIGH: Final = np.uint64(32)

Array = np.ndarray[Any, np.dtype[Any]]


@compiled()
def slopes(labels: Array, forward: Array, backward: Array, emit: Array, step: Array) -> tuple[Array, Array]:
    """Return the gradients, expected minus observed, of the scores [tokens, labels] and of the chain [labels + 2, labels]."""
    size, count = forward.shape
    slope = np.zeros((count + 2, count))
    delta = forward * backward
    for t in range(size):
        delta[t, labels[t]] -= 1.0
        if t:
            for j in range(count):
                for k in range(count):
                    slope[j, k] += forward[t - 1, j] * step[j, k] * emit[t, k] * backward[t, k]
            slope[labels[t - 1], labels[t]] -= 1.0
    slope[count] = delta[0]
    slope[count + 1] = delta[size - 1]
    return delta, slope


@compiled()
def _epoch(
    features: Array, starts: Array, labels: Array, order: Array, weights: Array, squares: Array, chain: Array, chained: Array,
    rate: float, decay: float, dropout: float, seed: int,
) -> float:  # fmt: skip
    """Run one pass over the citations; return the mean negative log-likelihood.

    ``chain`` [labels + 2, labels] holds steps, then first, then last. ``weights``, ``squares``, ``chain`` and ``chained`` are
    updated in place.
    """
    count, width = weights.shape[1], features.shape[1]
    state = np.uint64(seed)
    loss = 0.0
    for index in order:
        start, size = starts[index], starts[index + 1] - starts[index]
        truth = labels[start : start + size]
        scores = np.zeros((size, count))
        seen = np.empty((size, width), dtype=np.bool_)
        for t in range(size):
            for f in range(width):
                state = state * _STEP + _ADD
                seen[t, f] = float(state >> _HIGH) >= dropout * 4294967296.0
                if seen[t, f]:
                    row = features[start + t, f]
                    for k in range(count):
                        scores[t, k] += weights[row, k] / (1 - dropout)
        scores[0] += chain[count]
        scores[size - 1] += chain[count + 1]
        step = np.exp(chain[:count])
        forward, backward, emit, total = messages(scores, step)
        loss += total
        for t in range(size):
            loss -= scores[t, truth[t]]
            if t:
                loss -= chain[truth[t - 1], truth[t]]
        delta, slope = slopes(truth, forward, backward, emit, step)
        for j in range(count + 2):
            for k in range(count):
                chained[j, k] += slope[j, k] ** 2
                chain[j, k] -= rate * slope[j, k] / np.sqrt(chained[j, k])
        for t in range(size):
            for k in range(count):
                if abs(delta[t, k]) < _TINY:
                    continue
                for f in range(width):
                    if seen[t, f]:
                        row = features[start + t, f]
                        g = delta[t, k] + decay * weights[row, k]
                        squares[row, k] += g * g
                        weights[row, k] -= rate * g / np.sqrt(squares[row, k])
    return loss / len(order)


def learn(
    features: Sequence[Indices], labels: Sequence[Sequence[int]], *, epochs: int, seed: int, prune: float
) -> HashedTagger:
    """Return a tagger trained on labelled citations: ``features[i]`` [tokens, features] and one label for each token.

    ``prune``: weights of smaller absolute value are set to 0. The same input and seed give the same weights.
    """
    flat = np.concatenate(features).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum([len(item) for item in features])]).astype(np.int64)
    targets = np.concatenate([np.array(item, dtype=np.int8) for item in labels])
    count = len(LABELS)
    weights, squares = np.zeros((1 << BITS, count), dtype=np.float32), np.full((1 << BITS, count), SQUARE, dtype=np.float32)
    chain, chained = np.zeros((count + 2, count)), np.full((count + 2, count), SQUARE)
    rng = np.random.default_rng(seed)
    for epoch in range(epochs):
        rate, order = RATE * (1 - epoch / epochs), rng.permutation(len(features))
        loss = _epoch(flat, starts, targets, order, weights, squares, chain, chained, rate, DECAY, DROPOUT, seed + epoch)
        print(f"epoch {epoch + 1}: loss {loss:.4f} per citation", flush=True)
    weights[np.abs(weights) < prune] = 0
    return HashedTagger(weights, chain[:count].copy(), chain[count].copy(), chain[count + 1].copy())
