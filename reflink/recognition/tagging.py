"""Labels of tokens with their probabilities: the contract of every tagger, and inference in a linear chain."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from reflink.compiled import compiled
from reflink.recognition.summing import PLAIN
from reflink.recognition.tokens import Tokens

Doubles = np.ndarray[Any, np.dtype[np.float64]]

#: Limit of the scores: prevents overflow, and larger scores do not change a probability.
_CLIP: Final = 60.0
#: Minimum probability of a token's label, as a divisor.
_TINY: Final = 1e-12


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
    sure, stays = _probabilities(emit, np.exp(np.minimum(np.maximum(steps, -_CLIP), _CLIP)))
    return Tagging(sure.argmax(axis=1).tolist(), sure, stays)


@compiled()
def _probabilities(scores: Doubles, step: Doubles) -> tuple[Doubles, Doubles]:
    """Return ``sure`` and ``stays`` of `Tagging`. The arguments are those of `messages`; ``scores``, of any size, change."""
    size, count = scores.shape
    for t in range(size):
        top = _highest(scores, t)
        for k in range(count):
            scores[t, k] = np.maximum(scores[t, k] - top, -_CLIP)
    forward, backward, emit, _ = messages(scores, step)
    sure, stays = np.empty((size, count)), np.zeros((size, count))
    for t in range(size):
        for k in range(count):
            sure[t, k] = forward[t, k] * backward[t, k]
            if t + 1 < size:
                stays[t, k] = forward[t, k] * step[k, k] * emit[t + 1, k] * backward[t + 1, k]
    return sure, stays


@compiled()
def messages(scores: Doubles, step: Doubles) -> tuple[Doubles, Doubles, Doubles, float]:
    """Return one citation's forward (scaled to sum 1) and backward messages, emissions divided by the norms, and log Z.

    ``scores``: with those of the first and the last label; ``step``: exponentials of the steps.
    """
    size, count = scores.shape
    emit, forward, backward = np.empty((size, count)), np.empty((size, count)), np.ones((size, count))
    total = 0.0
    for t in range(size):
        top = _highest(scores, t)
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
        for k in range(count):  # a loop: numba compiles the operation on slices for two seconds
            forward[t, k] /= norm
            emit[t, k] /= norm
        total += top + np.log(norm)
    for t in range(size - 1, 0, -1):
        for j in range(count):
            value = 0.0
            for k in range(count):
                value += step[j, k] * emit[t, k] * backward[t, k]
            backward[t - 1, j] = value
    return forward, backward, emit, total


@compiled()
def _highest(scores: Doubles, token: int) -> float:
    """Return the highest score of a token. numba compiles ``max`` of a slice for half a second."""
    top: float = scores[token, 0]
    for k in range(1, scores.shape[1]):
        top = max(top, scores[token, k])
    return top


def spans(tagging: Tagging) -> list[Span]:
    """Return the runs of equal labels, in order."""
    labels, sure, stays = tagging
    stops, probabilities = (part.tolist() for part in _runs(np.array(labels), sure, stays))
    return [
        Span(labels[start], start, stop, probability)
        for start, stop, probability in zip((0, *stops), stops, probabilities, strict=False)
    ]


@compiled(plain=PLAIN)
def _runs(labels: Any, sure: Doubles, stays: Doubles) -> tuple[Any, Doubles]:
    """Return where each run of equal labels ends, int64, and its probability."""
    size, count = len(labels), 0
    stops, probabilities = np.empty(size, dtype=np.int64), np.empty(size)
    start = 0
    for stop in range(1, size + 1):
        label = labels[start]
        if stop < size and labels[stop] == label:
            continue
        # Markov chain: P(the run starts here) * P(it continues at each token) * P(it ends at the last).
        probability = max(sure[start, label], _TINY) - (stays[start - 1, label] if start else 0.0)
        on = 1.0
        for t in range(start, stop - 1):
            on *= stays[t, label] / max(sure[t, label], _TINY)
        own = max(sure[stop - 1, label], _TINY)
        probability = probability * on * ((own - stays[stop - 1, label]) / own)
        stops[count], probabilities[count] = stop, min(max(probability, 0.0), 1.0)
        start, count = stop, count + 1
    return stops[:count], probabilities[:count]
