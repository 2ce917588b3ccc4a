"""Tests of the CRF in torch against all paths, and against the inference of every tagger."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.recognition.cifal.crf import Crf
from reflink.recognition.tagging import infer
from tests.profiles import examples

LABELS = 3


def random_chain(seed: int, sizes: list[int]) -> tuple[Crf, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return a chain, scores, labels and a mask in float64, with arbitrary values where the mask is False."""
    generator = torch.Generator().manual_seed(seed)
    crf = Crf(LABELS).double()
    for value in crf.parameters():
        value.data.copy_(torch.randn(value.shape, generator=generator))
    width = max(sizes)
    scores = 2 * torch.randn(len(sizes), width, LABELS, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, LABELS, (len(sizes), width), generator=generator)
    known = torch.arange(width) < torch.tensor(sizes)[:, None]
    return crf, scores, labels, known


@given(st.integers(0, 10_000), st.lists(st.integers(1, 4), min_size=1, max_size=3))
@settings(max_examples=examples(40))
def test_loss_is_the_negative_logarithm_of_the_share_of_the_path(seed: int, sizes: list[int]):
    crf, scores, labels, known = random_chain(seed, sizes)
    found = crf.loss(scores, labels, known)

    def path(row: int, own: tuple[int, ...]) -> float:
        value = float((crf.first[own[0]] + crf.last[own[-1]]).detach())
        value += sum(float(scores[row, at, label]) for at, label in enumerate(own))
        return value + sum(float(crf.steps.detach()[one, other]) for one, other in pairwise(own))

    for row, size in enumerate(sizes):
        all_paths = [path(row, own) for own in product(range(LABELS), repeat=size)]
        expected = np.logaddexp.reduce(all_paths) - path(row, tuple(labels[row, :size].tolist()))
        assert abs(float(found[row]) - expected) < 1e-9


@given(st.integers(0, 10_000), st.lists(st.integers(1, 7), min_size=1, max_size=4))
@settings(max_examples=examples(40))
def test_marginals_are_those_of_the_inference_of_every_tagger(seed: int, sizes: list[int]):
    crf, scores, _, known = random_chain(seed, sizes)
    found = crf.marginals(scores, known)
    chain = [value.detach().numpy() for value in (crf.steps, crf.first, crf.last)]
    for row, size in enumerate(sizes):
        sure = infer(scores[row, :size].numpy(), *chain).sure
        np.testing.assert_allclose(found[row, :size].numpy(), sure, atol=1e-9)
        assert (found[row, size:] == 0).all()


def test_the_loss_teaches_scores_and_chain():
    crf, scores, labels, known = random_chain(1, [3, 2])
    scores.requires_grad_()
    crf.loss(scores, labels, known).sum().backward()
    assert scores.grad is not None
    assert all(value.grad is not None and value.grad.abs().sum() > 0 for value in crf.parameters())
    assert (scores.grad[~known] == 0).all()
