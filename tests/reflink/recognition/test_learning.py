"""Tests of the training of the tagger's weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from reflink.recognition import labels as tag
from reflink.recognition.features import features
from reflink.recognition.labels import LABELS
from reflink.recognition.learning import learn, slopes
from reflink.recognition.tagging import messages
from reflink.recognition.tokens import tokenise

COUNT = len(LABELS)


def negative_log_likelihood(scores: np.ndarray, steps: np.ndarray, truth: list[int]) -> float:
    state = scores[0]
    for row in scores[1:]:
        state = np.logaddexp.reduce(state[:, None] + steps, axis=0) + row
    path = scores[range(len(truth)), truth].sum() + sum(steps[a, b] for a, b in itertools.pairwise(truth))
    return float(np.logaddexp.reduce(state) - path)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_equal_the_differences_of_the_likelihood(seed: int):
    rng = np.random.default_rng(seed)
    scores, steps = rng.normal(0, 2, (5, COUNT)), rng.normal(0, 1, (COUNT, COUNT))
    truth = rng.integers(0, COUNT, 5)
    forward, backward, emit, total = messages(scores, np.exp(steps))
    path = scores[range(5), truth].sum() + steps[truth[:-1], truth[1:]].sum()
    assert total - path == pytest.approx(negative_log_likelihood(scores, steps, truth.tolist()))
    delta, slope = slopes(truth, forward, backward, emit, np.exp(steps))
    for parameters, gradient, at in [
        *((scores, delta, at) for at in [(0, 1), (2, 3), (4, int(truth[4]))]),
        *((steps, slope, at) for at in [(0, 1), (5, 5), (int(truth[0]), int(truth[1]))]),
    ]:
        small = 1e-6
        parameters[at] += small
        wanted = (negative_log_likelihood(scores, steps, truth.tolist()) - (total - path)) / small
        parameters[at] -= small
        assert gradient[at] == pytest.approx(wanted, abs=1e-4)


def test_the_tagger_reproduces_its_training_data():
    texts = ["Wang X. Plants. J Ecol 2004", "Li Y. Animals. Nature 1999"]
    marks = [
        [tag.L, tag.A, tag.O, tag.T, tag.O, tag.V, tag.V, tag.Y],
        [tag.L, tag.A, tag.O, tag.T, tag.O, tag.V, tag.Y],
    ]
    seen = [features(tokenise(text)) for text in texts]
    tagger, again, pruned = (learn(seen, marks, epochs=30, seed=1, prune=prune) for prune in (0.0, 0.0, 0.02))
    assert [tagger.tag(text, tokenise(text)).labels for text in texts] == marks
    assert np.array_equal(tagger.weights, again.weights)
    assert np.count_nonzero(pruned.weights) < np.count_nonzero(tagger.weights)
