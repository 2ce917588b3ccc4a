"""Tests of the tagger that comes with the package: several taggers whose scores are added."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.recognition.labels import LABELS
from reflink.recognition.tagger import BIGRU, CRF, SHARES, Pool, shipped
from reflink.recognition.tagging import infer
from reflink.recognition.tokens import tokenise
from reflink.shipped import read
from tests.profiles import examples
from tests.reflink.recognition.bigru.networks import random_network
from tests.reflink.recognition.crfs import random_crf

COUNT = len(LABELS)
TEXT = "Wang X, Li Y. Plants of the Alps. J Ecol. 2004;92:1-9."
TOKENS = tokenise(TEXT)


ONE, OTHER = random_crf(1), random_network(2)


@pytest.mark.parametrize("shares", [(1.0, 0.0), (0.0, 1.0)])
def test_a_pool_with_one_share_is_that_tagger(shares: tuple[float, float]):
    alone = (ONE if shares[0] else OTHER).tag(TEXT, TOKENS)
    pooled = Pool((ONE, OTHER), shares).tag(TEXT, TOKENS)
    assert pooled.labels == alone.labels
    np.testing.assert_allclose(pooled.sure, alone.sure, atol=1e-9)


def test_a_pool_of_equal_taggers_is_that_tagger():
    alone, pooled = ONE.tag(TEXT, TOKENS), Pool((ONE, ONE), (0.3, 0.7)).tag(TEXT, TOKENS)
    np.testing.assert_allclose(pooled.sure, alone.sure, atol=1e-9)
    np.testing.assert_allclose(pooled.stays, alone.stays, atol=1e-9)


@given(st.tuples(st.floats(0.0, 2.0), st.floats(0.0, 2.0)))
@settings(max_examples=examples(50))
def test_the_scores_are_added(shares: tuple[float, float]):
    a, b = shares
    chain = [a * one + b * other for one, other in zip(ONE.chain, OTHER.chain, strict=True)]
    expected = infer(a * ONE.scores(TOKENS) + b * OTHER.scores(TOKENS), *chain)
    pooled = Pool((ONE, OTHER), shares).tag(TEXT, TOKENS)
    np.testing.assert_allclose(pooled.sure, expected.sure, atol=1e-9)


def test_the_order_of_the_taggers_does_not_matter():
    one, other = Pool((ONE, OTHER), (0.4, 0.6)).tag(TEXT, TOKENS), Pool((OTHER, ONE), (0.6, 0.4)).tag(TEXT, TOKENS)
    np.testing.assert_allclose(one.sure, other.sure, atol=1e-9)


def test_each_tagger_needs_a_share():
    with pytest.raises(ValueError, match="shorter"):
        Pool((ONE, OTHER), (1.0,))


def test_a_tagger_that_is_not_finite_is_not_hidden_by_the_others():
    network = random_network(2)
    broken = dataclasses.replace(network, output_bias=np.full(COUNT, np.nan, dtype=np.float32))
    assert np.isnan(Pool((ONE, broken)).tag(TEXT, TOKENS).sure).any()


def test_the_shipped_weights_are_small_and_loaded_once():
    assert shipped() is shipped()
    assert len(SHARES) == 2
    assert len(read(CRF)) + len(read(BIGRU)) < 2_000_000
