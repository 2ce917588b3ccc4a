"""Tests of the BiGRU-CRF: its encoding, the compiled against the plain inference, and its file."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import ModelNotFound
from reflink.recognition.bigru.encoding import OFFSETS, SIZES, TOTAL, encode
from reflink.recognition.bigru.network import Network
from reflink.recognition.tokens import tokenise
from tests.profiles import examples
from tests.reflink.recognition.bigru.networks import COUNT, plain_scores, random_network
from tests.reflink.recognition.crfs import altered

NETWORK = random_network(1)
TEXTS = st.text(st.sampled_from("abcXY. ,;:()[]-–“”'019ßé中"), min_size=1, max_size=80).filter(lambda text: text.strip())


@given(TEXTS)
@settings(max_examples=examples(200))
def test_every_row_is_in_the_part_of_its_column(text: str):
    rows = encode(tokenise(text))
    assert rows.shape == (len(tokenise(text).words), len(SIZES))
    assert (rows >= OFFSETS).all()
    assert (rows < OFFSETS + SIZES).all()
    assert rows.max() < TOTAL


def test_the_same_word_has_the_same_rows_wherever_it_stands():
    rows = encode(tokenise("Ecology of plants, Ecology"))
    assert (rows[0, :7] == rows[4, :7]).all()
    assert (rows[0] != rows[4]).any()


@given(TEXTS)
@settings(max_examples=examples(100))
def test_the_compiled_inference_equals_the_plain_one(text: str):
    tokens = tokenise(text)
    np.testing.assert_allclose(NETWORK.scores(tokens), plain_scores(NETWORK, tokens), atol=1e-3)
    tagging = NETWORK.tag(text, tokens)
    assert len(tagging.labels) == len(tokens.words)
    np.testing.assert_allclose(tagging.sure.sum(axis=1), 1, atol=1e-6)


def test_extreme_parameters_do_not_overflow():
    wild = dataclasses.replace(NETWORK, output=NETWORK.output * 1e4, steps=NETWORK.steps * 1e3)
    tokens = tokenise("Wang X, Li Y. Plants of the Alps. J Ecol. 2004;92:1-9.")
    tagging = wild.tag("", tokens)
    assert np.isfinite(tagging.sure).all()
    assert np.isfinite(tagging.stays).all()


def test_a_written_network_can_be_read():
    data = NETWORK.to_bytes()
    again = Network.read(data, "weights")
    assert data == NETWORK.to_bytes()
    for part in dataclasses.fields(Network):
        before, after = getattr(NETWORK, part.name), getattr(again, part.name)
        assert after.dtype == np.float32
        assert np.abs(before - after).max() <= np.abs(before).max() / 127


def archive(**changed: object) -> bytes:
    return altered(NETWORK.to_bytes(), **changed)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"PK", b"no archive at all", archive(table=None), archive(table_scale=None), archive(format=99),
        archive(labels="OX"),
        archive(table=[[1]]), archive(first=np.full(COUNT, np.nan)), archive(format=["a"]), archive(labels={"a": 1}),
        archive(last=[None] * COUNT), NETWORK.to_bytes()[:-30],
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_refused(data: bytes):
    with pytest.raises(ModelNotFound, match=r"w\.npz: "):
        Network.read(data, "w.npz")
