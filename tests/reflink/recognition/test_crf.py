"""Tests of the hashed CRF: probabilities, runs of labels, and the file of weights."""

from __future__ import annotations

import io
import itertools
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from reflink.errors import ModelNotFound
from reflink.recognition.crf import HashedTagger
from reflink.recognition.features import features
from reflink.recognition.tagging import spans
from reflink.recognition.tokens import tokenise
from tests.reflink.recognition.crfs import COUNT, altered, random_crf

CITATION = tokenise("Wang X, Li Y. Plants of the Alps. J Ecol. 2004;92:1-9.")


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_equal_sums_over_all_sequences_of_labels(seed: int):
    tagger = random_crf(seed)
    seen = features(tokenise("Wang X 2004"))
    scores = tagger.scores(tokenise("Wang X 2004"))
    np.testing.assert_allclose(scores, tagger.weights[seen].astype(np.float64).sum(axis=1), atol=1e-5)
    every = list(itertools.product(range(COUNT), repeat=3))
    a, b, c = np.array(every).T
    chain = tagger.first[a] + tagger.steps[a, b] + tagger.steps[b, c] + tagger.last[c]
    weight = chain + scores[0, a] + scores[1, b] + scores[2, c]
    chance = np.exp(weight - weight.max())
    chance /= chance.sum()
    tagging = tagger.tag("", tokenise("Wang X 2004"))
    for at in range(3):
        np.testing.assert_allclose(tagging.sure[at], np.bincount(np.array(every)[:, at], chance), atol=1e-9)
    for span in spans(tagging):
        inside = range(span.start, span.stop)
        near = range(max(span.start - 1, 0), min(span.stop + 1, 3))
        exact = [all((sequence[at] == span.label) == (at in inside) for at in near) for sequence in every]
        assert span.probability == pytest.approx(chance[exact].sum(), abs=1e-9)


def test_spans_cover_the_text():
    tagging = random_crf(9).tag("", CITATION)
    found = spans(tagging)
    assert [at for span in found for at in range(span.start, span.stop)] == list(range(len(tagging.labels)))
    assert all(a.label != b.label for a, b in itertools.pairwise(found))


def test_extreme_scores_do_not_overflow():
    tagger = random_crf(1)
    wild = HashedTagger(tagger.weights * 1e4, tagger.steps * 1e3, tagger.first, tagger.last)
    tagging = wild.tag("", CITATION)
    assert np.isfinite(tagging.sure).all()
    assert all(0 <= span.probability <= 1 for span in spans(tagging))


def test_a_written_tagger_can_be_read():
    tagger = random_crf(2)
    data = tagger.to_bytes()
    again = HashedTagger.read(data, "weights")
    assert data == tagger.to_bytes()
    step = float(np.abs(tagger.weights).max()) / 127
    assert np.abs(again.weights - tagger.weights).max() <= step * 0.51
    np.testing.assert_allclose(again.steps, tagger.steps, rtol=1e-6)


def archive(**changed: object) -> bytes:
    return altered(random_crf(3).to_bytes(), **changed)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"PK", b"no archive at all", b"PK\x03\x04" + bytes(200), archive(weights=None), archive(format=99),
        archive(labels="OX"), archive(weights=[[1]]), archive(weights_scale=float("nan")), archive(steps=[[0.0]]),
        archive(first=np.full(COUNT, np.nan)), archive(format=["a"]), archive(labels={"a": 1}), archive(last=[None] * COUNT),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_refused(data: bytes):
    with pytest.raises(ModelNotFound, match=r"w\.npz: "):
        HashedTagger.read(data, "w.npz")


def test_a_damaged_file_is_refused():
    data = random_crf(4).to_bytes()
    for cut in (len(data) // 2, len(data) - 30):
        with pytest.raises(ModelNotFound):
            HashedTagger.read(data[:cut], "w.npz")
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        middle = packed.getinfo("weights.npy").header_offset + packed.getinfo("weights.npy").compress_size // 2
    for at in range(middle, middle + 400, 20):
        broken = bytearray(data)
        broken[at] ^= 0xFF
        with pytest.raises(ModelNotFound):
            HashedTagger.read(bytes(broken), "w.npz")


def test_no_other_error_ends_the_reading_of_a_damaged_file():
    data = random_crf(4).to_bytes()
    for at in (*range(0, 1000, 7), *range(len(data) - 1000, len(data), 7)):
        broken = bytearray(data)
        broken[at] ^= 0xFF
        with suppress(ModelNotFound):  # a byte of a time or a comment changes nothing
            HashedTagger.read(bytes(broken), "w.npz")
