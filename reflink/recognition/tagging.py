"""Labels of tokens with their probabilities: the contract of every tagger, and inference in a linear chain."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from reflink.recognition.labels import label_runs
from reflink.recognition.tokens import Tokens

Doubles = np.ndarray[Any, np.dtype[np.float64]]

#: Limit of the scores: prevents overflow, and larger scores do not change a probability.
_CLIP: Final = 60.0


class Tagging(NamedTuple):
    """Labels of n tokens with their probabilities.

    ``labels`` [n]: each token's label. ``sure`` [n, labels]: probability of each label. ``stays`` [n, labels]: probability that
    a token and the next token both have the label (0 for the last token).
    """

    labels: list[int]
    sure: Doubles
    stays: Doubles


class Tagger(Protocol):
    """Anything that labels the tokens of a citation; `reflink.recognition.reading.read` derives fields from its labels."""

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        """Return the labels of at least one token. ``tokens``: those of ``text`` (`reflink.recognition.tokens.tokenise`)."""
        ...


class Span(NamedTuple):
    """Tokens ``[start, stop)`` with one label, and the probability that exactly these tokens form a run of that label."""

    label: int
    start: int
    stop: int
    probability: float


def infer(scores: Doubles, steps: Doubles, first: Doubles, last: Doubles) -> Tagging:
    """Return the most probable label of each token of a linear-chain random field, and the probabilities: forward-backward.

    ``scores`` [tokens, labels]: emissions; ``steps`` [labels, labels]: from a token's label to the next token's; ``first`` and
    ``last`` [labels]: of the first and the last token. All are logarithms.
    """
    scores = scores.astype(np.float64)
    scores[0] += first
    scores[-1] += last
    scores -= scores.max(axis=1, keepdims=True)
    emit = np.exp(np.maximum(scores, -_CLIP))
    step = np.exp(np.clip(steps, -_CLIP, _CLIP))
    size, count = emit.shape
    forward, backward = np.empty((size, count)), np.empty((size, count))
    norms = np.empty(size)
    state = emit[0]
    for at in range(size):
        if at:
            state = (state @ step) * emit[at]
        norm = state.sum()
        state = state / norm
        forward[at], norms[at] = state, norm
    back = step.T
    state = np.ones(count)
    backward[-1] = state
    weighted = emit / norms[:, None]
    for at in range(size - 1, 0, -1):
        state = (state * weighted[at]) @ back
        backward[at - 1] = state
    sure = forward * backward
    stays = np.zeros((size, count))
    stays[:-1] = forward[:-1] * np.diagonal(step) * weighted[1:] * backward[1:]
    return Tagging(sure.argmax(axis=1).tolist(), sure, stays)


def spans(tagging: Tagging) -> list[Span]:
    """Return the runs of equal labels, in order."""
    found: list[Span] = []
    labels, sure, stays = tagging
    for label, start, stop in label_runs(labels):
        # Markov chain: P(the run starts here) * P(it continues at each token) * P(it ends at the last).
        own = np.maximum(sure[start:stop, label], 1e-12)
        begins = own[0] - (stays[start - 1, label] if start else 0.0)
        on = (stays[start : stop - 1, label] / own[:-1]).prod()
        ends = (own[-1] - stays[stop - 1, label]) / own[-1]
        found.append(Span(label, start, stop, float(min(max(begins * on * ends, 0.0), 1.0))))
    return found
