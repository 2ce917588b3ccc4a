"""Labels of tokens with their probabilities: the contract of every tagger, and inference in a linear chain."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from reflink.compiled import compiled
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


#: Scores of the steps [labels, labels], of the first and of the last label [labels].
Chain = tuple[Doubles, Doubles, Doubles]


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
    emit = scores.astype(np.float64)
    emit[0] += first
    emit[-1] += last
    emit = np.maximum(emit - emit.max(axis=1, keepdims=True), -_CLIP)
    step = np.exp(np.clip(steps, -_CLIP, _CLIP))
    forward, backward, emit, _ = messages(emit, step)
    sure, stays = forward * backward, np.zeros_like(forward)
    stays[:-1] = forward[:-1] * np.diagonal(step) * emit[1:] * backward[1:]
    return Tagging(sure.argmax(axis=1).tolist(), sure, stays)


@compiled()
def messages(scores: Doubles, step: Doubles) -> tuple[Doubles, Doubles, Doubles, float]:
    """Return one citation's forward (scaled to sum 1) and backward messages, emissions divided by the norms, and log Z.

    ``scores``: with those of the first and the last label; ``step``: exponentials of the steps.
    """
    size, count = scores.shape
    emit, forward, backward = np.empty((size, count)), np.empty((size, count)), np.ones((size, count))
    total = 0.0
    for t in range(size):
        top = scores[t].max()
        norm = 0.0
        for k in range(count):
            value = 1.0
            if t:
                value = 0.0
                for j in range(count):
                    value += forward[t - 1, j] * step[j, k]
            emit[t, k] = np.exp(scores[t, k] - top)
            forward[t, k] = value * emit[t, k]
            norm += forward[t, k]
        forward[t] /= norm
        emit[t] /= norm
        total += top + np.log(norm)
    for t in range(size - 1, 0, -1):
        for j in range(count):
            value = 0.0
            for k in range(count):
                value += step[j, k] * emit[t, k] * backward[t, k]
            backward[t - 1, j] = value
    return forward, backward, emit, total


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
