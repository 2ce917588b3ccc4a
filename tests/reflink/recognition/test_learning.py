from __future__ import annotations

import itertools

import numpy as np
import pytest

from reflink.recognition import labels as tag
from reflink.recognition.features import features
from reflink.recognition.labels import LABELS
from reflink.recognition.learning import _messages, _slopes, learn
from reflink.recognition.tokens import tokenise

COUNT = len(LABELS)


def negative_log_likelihood(scores: np.ndarray, steps: np.ndarray, truth: list[int]) -> float:
    state = scores[0]
    for row in scores[1:]:
        state = np.logaddexp.reduce(state[:, None] + steps, axis=0) + row
    path = scores[range(len(truth)), truth].sum() + sum(steps[a, b] for a, b in itertools.pairwise(truth))
    return float(np.logaddexp.reduce(state) - path)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_those_of_the_likelihood(seed: int):
    rng = np.random.default_rng(seed)
    scores, steps = rng.normal(0, 2, (5, COUNT)), rng.normal(0, 1, (COUNT, COUNT))
    truth = rng.integers(0, COUNT, 5)
    forward, backward, emit, total = _messages(scores, np.exp(steps))
    path = scores[range(5), truth].sum() + steps[truth[:-1], truth[1:]].sum()
    assert total - path == pytest.approx(negative_log_likelihood(scores, steps, truth.tolist()))
    delta, slope = _slopes(truth, forward, backward, emit, np.exp(steps))
    small = 1e-6
    for at in [(0, 1), (2, 3), (4, int(truth[4]))]:
        moved = scores.copy()
        moved[at] += small
        wanted = (negative_log_likelihood(moved, steps, truth.tolist()) - (total - path)) / small
        assert delta[at] == pytest.approx(wanted, abs=1e-4)
    for at in [(0, 1), (5, 5), (int(truth[0]), int(truth[1]))]:
        moved = steps.copy()
        moved[at] += small
        wanted = (negative_log_likelihood(scores, moved, truth.tolist()) - (total - path)) / small
        assert slope[at] == pytest.approx(wanted, abs=1e-4)


def test_what_it_was_shown_it_knows():
    shown = [
        ("Wang X. Plants. J Ecol 2004", [tag.L, tag.A, tag.O, tag.T, tag.O, tag.V, tag.V, tag.Y]),
        ("Li Y. Animals. Nature 1999", [tag.L, tag.A, tag.O, tag.T, tag.O, tag.V, tag.Y]),
    ]
    seen = [features(tokenise(text)) for text, _ in shown]
    tagger = learn(seen, [marks for _, marks in shown], epochs=30, seed=1, prune=0.0)
    for item, (_, marks) in zip(seen, shown, strict=True):
        assert tagger.tag(item).labels == marks
    again = learn(seen, [marks for _, marks in shown], epochs=30, seed=1, prune=0.0)
    assert np.array_equal(tagger.weights, again.weights)
    pruned = learn(seen, [marks for _, marks in shown], epochs=30, seed=1, prune=0.02)
    assert np.count_nonzero(pruned.weights) < np.count_nonzero(tagger.weights)
