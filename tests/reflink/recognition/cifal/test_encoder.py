"""The encoder against transformers, and its two parts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from reflink.recognition.cifal.batches import Batch
from reflink.recognition.cifal.encoder import Encoder
from reflink.recognition.cifal.pieces import WordPieces
from tests.reflink.recognition.cifal.invented import invent, pieced

CPU = torch.device("cpu")


def batch_of(folder: Path) -> Batch:
    return Batch.of(pieced(folder, invent(5)), WordPieces(folder).marks, CPU)


@pytest.mark.parametrize("frozen", [0, 2, 3])
def test_states_are_those_of_transformers(tiny: Path, frozen: int):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertModel.from_pretrained(tiny).eval()
    encoder, batch = Encoder.load(tiny, frozen), batch_of(tiny)
    torch.nn.init.zeros_(encoder.spellings.weight)
    with torch.no_grad():
        found = encoder.upper(encoder.lower(batch.ids, batch.real), batch.spellings, batch.real)
        expected = theirs(input_ids=batch.ids, attention_mask=batch.real.long()).last_hidden_state
    torch.testing.assert_close(found[batch.real], expected[batch.real], atol=1e-5, rtol=1e-5)


def test_everything_that_was_not_pretrained_starts_equal(tiny: Path):
    one, other = (Encoder.load(tiny, 1).state_dict() for _ in range(2))
    assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_only_the_upper_layers_and_the_spellings_learn(tiny: Path):
    encoder, batch = Encoder.load(tiny, 2), batch_of(tiny)
    encoder.upper(encoder.lower(batch.ids, batch.real), batch.spellings, batch.real).square().sum().backward()
    learnt = {
        name.split(".")[0] + name.partition(".")[2][:2] for name, value in encoder.named_parameters() if value.grad is not None
    }
    assert learnt == {"spellingswe", "layers2."}
    assert {name for name, value in encoder.named_parameters() if value.requires_grad} == {
        name for name, value in encoder.named_parameters() if value.grad is not None
    }


def test_the_spelling_changes_the_states(tiny: Path):
    encoder, pieces = Encoder.load(tiny, 1), WordPieces(tiny)
    from reflink.recognition.tokens import tokenise

    one, other = (Batch.of([pieces(tokenise(text))], pieces.marks, CPU) for text in ("of Rome", "of ROME"))
    assert torch.equal(one.ids, other.ids)
    states = [encoder.upper(encoder.lower(own.ids, own.real), own.spellings, own.real) for own in (one, other)]
    assert not torch.allclose(states[0], states[1])
