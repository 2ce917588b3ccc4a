"""Tests of the training of the BiGRU-CRF."""

from __future__ import annotations

import numpy as np
import torch

from reflink.recognition import labels as tag
from reflink.recognition.bigru.encoding import encode
from reflink.recognition.bigru.training import Model, fit, tuned
from reflink.recognition.labelled import Labelled
from reflink.recognition.tokens import tokenise

CITATIONS = [
    Labelled("Wang X. Plants. J Ecol 2004", [tag.L, tag.A, tag.O, tag.T, tag.O, tag.V, tag.V, tag.Y], True),
    Labelled("Li Y. Animals. Nature 1999", [tag.L, tag.A, tag.O, tag.T, tag.O, tag.V, tag.Y], True),
]


def model() -> Model:
    torch.manual_seed(1)
    return Model()


def test_the_compiled_network_computes_what_torch_computes():
    own = model().eval()
    text = CITATIONS[0].text
    rows = [encode(tokenise(text)).astype(np.int64) for text in (text, CITATIONS[1].text[:9], text)]
    with torch.no_grad():
        expected = own(torch.from_numpy(np.concatenate(rows)), [len(own_rows) for own_rows in rows]).numpy()
    found = own.network().scores(tokenise(text))
    np.testing.assert_allclose(found, expected[0], atol=1e-5)
    np.testing.assert_allclose(found, expected[2], atol=1e-5)
    short = own.network().scores(tokenise(CITATIONS[1].text[:9]))
    np.testing.assert_allclose(short, expected[1, : len(rows[1])], atol=1e-5)


def test_it_reproduces_its_training_data():
    own = model()
    fit(own, CITATIONS, epochs=80, seed=1, rate=0.01)
    network = own.network()
    assert [network.tag(one.text, tokenise(one.text)).labels for one in CITATIONS] == [one.labels for one in CITATIONS]


def test_the_second_phase_leaves_the_model_of_the_first_unchanged_and_is_reproducible():
    own = model()
    before = own.network().to_bytes()
    one, other = (tuned(own, CITATIONS, seed=2).to_bytes() for _ in range(2))
    assert own.network().to_bytes() == before
    assert one == other != before
