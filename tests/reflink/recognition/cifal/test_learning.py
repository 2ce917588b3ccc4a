"""Tests of the stages: fine-tuning, anchors, selector and the task-guided stage, on invented citations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from reflink.recognition.cifal.anchors import DELTA, anchors, confidences, importance
from reflink.recognition.cifal.encoder import Encoder
from reflink.recognition.cifal.finetuning import finetune
from reflink.recognition.cifal.masking import chosen, guide, hidden
from reflink.recognition.cifal.network import Network
from reflink.recognition.cifal.pieces import Pieced, WordPieces
from reflink.recognition.cifal.selector import fit, select
from reflink.recognition.cifal.tagger import CifalTagger
from reflink.recognition.labels import V
from reflink.recognition.tagging import infer
from reflink.recognition.tokens import tokenise
from tests.reflink.recognition.cifal.invented import invent, pieced

TASK = invent(64)


@pytest.fixture(scope="module")
def encoder(tiny: Path) -> Encoder:
    return Encoder.load(tiny, 1)


@pytest.fixture(scope="module")
def network(tiny: Path, encoder: Encoder) -> Network:
    return finetune(encoder, pieced(tiny, TASK), pieced(tiny, TASK[:8]), WordPieces(tiny).marks, epochs=20, seed=1, report=str)


def test_fine_tuning_learns_to_label_other_citations(tiny: Path, network: Network):
    others = invent(20, seed=9)
    found = CifalTagger(network, WordPieces(tiny)).tag_all([citation.text for citation in others])
    right = [
        a == b for own, citation in zip(found, others, strict=True) for a, b in zip(own.labels, citation.labels, strict=True)
    ]
    assert np.mean(right) > 0.9


def test_fine_tuning_leaves_the_encoder_as_it_was_and_is_repeatable(tiny: Path, encoder: Encoder):
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    made = [
        finetune(encoder, pieced(tiny, TASK[:16]), pieced(tiny, TASK[:4]), WordPieces(tiny).marks, epochs=1, seed=2, report=str)
        for _ in range(2)
    ]
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert all(torch.equal(value, made[1].state_dict()[name]) for name, value in made[0].state_dict().items())
    assert not torch.equal(made[0].encoder.layers[2].up.weight, encoder.layers[2].up.weight)
    assert torch.equal(made[0].encoder.layers[0].up.weight, encoder.layers[0].up.weight)


def test_the_best_epoch_is_kept(tiny: Path, encoder: Encoder):
    lines: list[str] = []
    own = pieced(tiny, TASK[:32])
    # The validation set has wrong labels, so the first epoch is the best of all.
    wrong = [Pieced(citation.pieces, citation.spellings, (12,) * len(citation.pieces)) for citation in own]
    best = finetune(encoder, own, wrong, WordPieces(tiny).marks, epochs=3, seed=1, report=lines.append)
    shares = [float(line.split(", ")[1].split()[0]) for line in lines]
    found = CifalTagger(best, WordPieces(tiny)).tag_all([citation.text for citation in TASK[:32]])
    assert abs(np.mean([label == 12 for tagging in found for label in tagging.labels]) - max(shares)) < 1e-3


def test_importance_is_the_drop_of_the_mean_confidence(tiny: Path, network: Network):
    marks, own = WordPieces(tiny).marks, pieced(tiny, TASK[:6])

    def confidence(citation: Pieced) -> float:
        from reflink.recognition.cifal.batches import Batch

        scores = network(Batch.of([citation], marks, torch.device("cpu")))[0].detach().numpy()
        chain = [value.detach().numpy() for value in (network.crf.steps, network.crf.first, network.crf.last)]
        sure = infer(scores, *chain).sure
        venue = [sure[at, V] for at, label in enumerate(citation.labels) if label == V]
        return float(np.mean(venue)) if venue else 0.0

    for citation, drops in zip(own, importance(network, own, marks), strict=True):
        assert set(drops) == {at for at, label in enumerate(citation.labels) if label == V}
        for at, drop in drops.items():
            assert abs(drop - (confidence(citation) - confidence(citation.without(at)))) < 1e-4


def test_a_venue_of_one_word_is_an_anchor_and_no_other_label_has_one(tiny: Path, network: Network):
    marks, own = WordPieces(tiny).marks, pieced(tiny, TASK)
    found = anchors(network, own, marks)
    sure = confidences(network, own, marks)
    assert any(citation.labels.count(V) == 1 for citation in own)
    for citation, numbers, confident in zip(own, found, sure, strict=True):
        assert all(citation.labels[at] == V for at in numbers)
        if citation.labels.count(V) == 1 and confident > DELTA:
            assert numbers == {citation.labels.index(V)}


def test_the_selector_learns_anchors(tiny: Path, encoder: Encoder):
    pieces = WordPieces(tiny)

    def truth(citations: list) -> list[frozenset[int]]:
        words = [tokenise(citation.text).words for citation in citations]
        return [frozenset(at for at, word in enumerate(own) if word == "Journal") for own in words]

    selector = fit(encoder, pieced(tiny, TASK), truth(TASK), pieces.marks, epochs=60, seed=1)
    others = invent(20, seed=9)
    found = select(selector, pieced(tiny, others), pieces.marks)
    right = [one == other for one, other in zip(found, truth(others), strict=True)]
    assert np.mean([bool(own) for own in truth(others)]) > 0.4  # a selector that finds nothing is right elsewhere
    assert np.mean(right) >= 0.8


def test_masking_by_anchors_masks_them_and_as_many_words_as_random_masking():
    citation = Pieced(tuple((at,) for at in range(40)), (0,) * 40)
    for anchored in (frozenset({3, 7}), frozenset(range(10)), frozenset[int]()):
        for seed in range(20):
            ours, random = (chosen(citation, anchored, by, np.random.default_rng(seed)) for by in (True, False))
            assert anchored <= ours
            assert len(ours) == len(random) == max(len(anchored), 6)
            assert ours | random <= set(range(40))
    assert any(not {3, 7} <= chosen(citation, frozenset({3, 7}), False, np.random.default_rng(seed)) for seed in range(5))
    assert chosen(Pieced(((1,),), (0,)), frozenset(), True, np.random.default_rng(0)) == {0}


def test_all_pieces_of_a_masked_word_are_hidden_and_no_other():
    citation = Pieced(((1, 2), (3,), (4, 5)), (0, 1, 2), (6, 7, 8))
    assert hidden(citation, frozenset({0}), 99) == Pieced(((99, 99), (3,), (4, 5)), (0, 1, 2), (6, 7, 8))


@pytest.mark.parametrize("by_anchors", [True, False])
def test_the_task_guided_stage_learns_masked_words(tiny: Path, encoder: Encoder, by_anchors: bool):
    own = pieced(tiny, TASK)
    anchored = [frozenset(at for at, label in enumerate(citation.labels) if label == V) for citation in own]
    lines: list[str] = []
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    guided = guide(
        encoder, own, anchored, WordPieces(tiny).marks, by_anchors=by_anchors, epochs=40, seed=1, report=lines.append
    )
    losses = [float(line.split("loss ")[1].split()[0]) for line in lines]
    assert losses[-1] < losses[0] - 0.15
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    changed = {name for name, value in guided.state_dict().items() if not torch.equal(value, before[name])}
    assert changed
    assert all(name.startswith(("layers.1.", "layers.2.", "spellings.")) for name in changed)
