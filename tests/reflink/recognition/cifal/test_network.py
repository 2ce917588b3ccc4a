"""Tests of the network and of its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from reflink.errors import ModelNotFound
from reflink.recognition.cifal.encoder import Encoder
from reflink.recognition.cifal.network import Dropout, Network
from reflink.recognition.cifal.pieces import WordPieces
from reflink.recognition.cifal.tagger import CifalTagger
from reflink.recognition.reading import read
from reflink.recognition.tagging import Tagger, Tagging
from reflink.recognition.tokens import tokenise
from tests.reflink.recognition.cifal.invented import invent

CPU = torch.device("cpu")
TEXTS = [citation.text for citation in invent(9)] + [" ".join(["Wang"] * 400)]


@pytest.fixture
def tagger(tiny: Path) -> CifalTagger:
    network = Network(Encoder.load(tiny, 1), 4)
    torch.nn.init.normal_(network.crf.steps)
    return CifalTagger(network, WordPieces(tiny))


def same(one: Tagging, other: Tagging) -> bool:
    return (
        one.labels == other.labels
        and np.allclose(one.sure, other.sure, atol=1e-5)
        and np.allclose(one.stays, other.stays, atol=1e-5)
    )


def test_labels_do_not_depend_on_the_other_citations(tagger: CifalTagger):
    together = tagger.tag_all(TEXTS)
    alone = [tagger.tag(text, tokenise(text)) for text in TEXTS]
    assert all(same(one, other) for one, other in zip(together, alone, strict=True))
    assert all(len(own.labels) == len(tokenise(text).words) for own, text in zip(together, TEXTS, strict=True))
    assert all(np.allclose(own.sure.sum(axis=1), 1) for own in together)


def test_reading_uses_it_as_any_tagger(tagger: CifalTagger):
    any_tagger: Tagger = tagger
    assert all(0 <= sure <= 1 for text in TEXTS for sure in read(text, any_tagger).sure.values())


def test_the_file_has_what_was_learnt(tagger: CifalTagger, tiny: Path, tmp_path: Path):
    path = tmp_path / "weights.safetensors"
    tagger.save(path)
    again = CifalTagger.load(path, tiny, CPU)
    assert all(same(again.tag(text, tokenise(text)), tagger.tag(text, tokenise(text))) for text in TEXTS)
    other = CifalTagger(Network(Encoder.load(tiny, 1), 5), WordPieces(tiny))
    assert not same(other.tag(TEXTS[0], tokenise(TEXTS[0])), tagger.tag(TEXTS[0], tokenise(TEXTS[0])))


def test_a_damaged_or_foreign_file_is_refused(tagger: CifalTagger, tiny: Path, tmp_path: Path):
    from safetensors.torch import load_file, save_file

    path = tmp_path / "weights.safetensors"
    with pytest.raises(ModelNotFound, match="not a file of the tagger's weights"):
        CifalTagger.load(path, tiny, CPU)
    tagger.save(path)
    weights, about = load_file(path), {"format": "1", "labels": "OLACDTVPYNIFE", "frozen": "1"}
    short = tmp_path / "short.safetensors"
    short.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ModelNotFound, match="not a file of the tagger's weights"):
        CifalTagger.load(short, tiny, CPU)
    less = {name: value for name, value in weights.items() if name != "scores.bias"}
    for own, noted in ((weights, {**about, "labels": "XY"}), (weights, {**about, "format": "0"}), (less, about)):
        other = tmp_path / "other.safetensors"
        save_file(own, other, noted)
        with pytest.raises(ModelNotFound, match="of another version"):
            CifalTagger.load(other, tiny, CPU)


def test_the_seed_decides_initial_values_and_dropped_ones(tiny: Path):
    one, other, third = (Network(Encoder.load(tiny, 1), seed) for seed in (1, 1, 2))
    assert torch.equal(one.scores.weight, other.scores.weight)
    assert not torch.equal(one.scores.weight, third.scores.weight)
    drops = [Dropout(0.5, 1)(torch.ones(1000)) for _ in range(2)]
    assert torch.equal(*drops)
    assert set(drops[0].tolist()) == {0.0, 2.0}
    assert torch.equal(Dropout(0.5, 1).eval()(torch.ones(9)), torch.ones(9))
