"""Tests of the inference in a linear chain, beside a plain one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.recognition.labels import LABELS
from reflink.recognition.tagging import infer, spans
from tests.profiles import examples
from tests.reflink.recognition.plain import spans as plain_spans

COUNT = len(LABELS)


def plain(scores: np.ndarray, steps: np.ndarray, first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities by sums over logarithms, without scaling."""
    emit = scores.copy()
    emit[0] += first
    emit[-1] += last
    size = len(emit)
    forward, backward = np.zeros_like(emit), np.zeros_like(emit)
    forward[0] = emit[0]
    for t in range(1, size):
        forward[t] = np.logaddexp.reduce(forward[t - 1][:, None] + steps, axis=0) + emit[t]
    for t in range(size - 2, -1, -1):
        backward[t] = np.logaddexp.reduce(steps + emit[t + 1] + backward[t + 1], axis=1)
    total = np.logaddexp.reduce(forward[-1])
    stays = np.zeros_like(emit)
    stays[:-1] = np.exp(forward[:-1] + np.diagonal(steps) + emit[1:] + backward[1:] - total)
    return np.exp(forward + backward - total), stays


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from((0.1, 1.0, 5.0)))
@settings(max_examples=examples(200))
def test_the_compiled_inference_equals_the_plain_one(size: int, seed: int, scale: float):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(0, scale, shape) for shape in ((size, COUNT), (COUNT, COUNT), (COUNT,), (COUNT,))]
    before = [part.copy() for part in parts]
    found = infer(*parts)
    sure, stays = plain(*parts)
    np.testing.assert_allclose(found.sure, sure, atol=1e-9)
    np.testing.assert_allclose(found.stays, stays, atol=1e-9)
    assert found.labels == sure.argmax(axis=1).tolist()
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, old)


@given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.sampled_from((0.1, 1.0, 5.0, 30.0)))
@settings(max_examples=examples(200))
def test_the_probabilities_of_runs_equal_the_plain_ones_bit_by_bit(size: int, seed: int, scale: float):
    rng = np.random.default_rng(seed)
    tagging = infer(*(rng.normal(0, scale, shape) for shape in ((size, COUNT), (COUNT, COUNT), (COUNT,), (COUNT,))))
    assert spans(tagging) == plain_spans(tagging)
    assert [start for _, start, _, _ in spans(tagging)] == [0, *(stop for _, _, stop, _ in spans(tagging))][:-1]


@pytest.mark.parametrize("constant", [-1e6, 0.0, 1e6])
def test_a_constant_added_to_the_scores_of_a_token_changes_nothing(constant: float):
    rng = np.random.default_rng(1)
    scores, chain = rng.normal(size=(5, COUNT)), (rng.normal(size=(COUNT, COUNT)), np.zeros(COUNT), np.zeros(COUNT))
    moved = scores.copy()
    moved[2] += constant
    np.testing.assert_allclose(infer(moved, *chain).sure, infer(scores, *chain).sure, atol=1e-6)


def test_extreme_scores_do_not_overflow():
    rng = np.random.default_rng(2)
    found = infer(rng.normal(0, 1e6, (40, COUNT)), rng.normal(0, 1e3, (COUNT, COUNT)), np.zeros(COUNT), np.zeros(COUNT))
    assert np.isfinite(found.sure).all()
    assert np.isfinite(found.stays).all()
