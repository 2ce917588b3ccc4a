from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import ModelNotFound
from reflink.evaluation.rivals.siamese.network import OUTPUT, Network, cross_entropy, distance, similarities
from tests.profiles import examples

TOKENS = 30
TEXTS = st.lists(st.lists(st.integers(1, TOKENS - 1), min_size=1, max_size=12), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def network() -> Network:
    torch.set_num_threads(1)  # several threads wait for each other on a machine with other load
    torch.manual_seed(3)
    return Network(TOKENS, width=8)


@given(texts=TEXTS)
@settings(max_examples=examples(40))
def test_the_similarity_is_symmetric_and_one_for_equal_texts(network: Network, texts: list[list[int]]):
    vectors = network.encode(texts)
    assert vectors.shape == (len(texts), OUTPUT)
    table = similarities(vectors[:, None], vectors[None])
    assert (np.diag(table) == 1).all()
    assert (table == table.T).all()
    assert ((table > 0) & (table <= 1)).all()
    assert similarities(vectors, np.roll(vectors, 1, axis=0)) == pytest.approx(
        np.exp(-distance(*map(torch.from_numpy, (vectors, np.roll(vectors, 1, axis=0)))).numpy()), rel=1e-4
    )


@given(texts=TEXTS)
@settings(max_examples=examples(40))
def test_a_vector_does_not_depend_on_the_other_texts(network: Network, texts: list[list[int]]):
    alone = np.concatenate([network.encode([text]) for text in texts])
    assert network.encode(texts) == pytest.approx(alone, abs=1e-5)


def test_the_order_of_the_tokens_matters(network: Network):
    one, other = network.encode([[1, 2, 3], [3, 2, 1]])
    assert similarities(one, other) < 1


def test_the_loss_falls_as_matches_come_near_and_others_move_apart():
    labels = torch.tensor([1, 0])
    losses = [float(cross_entropy(torch.tensor(distances), labels)) for distances in ([3.0, 0.1], [1.0, 1.0], [0.0, 9.0])]
    assert losses == sorted(losses, reverse=True)
    assert losses[1] == pytest.approx(-(np.log(np.exp(-1)) + np.log(1 - np.exp(-1))) / 2)
    assert np.isfinite(float(cross_entropy(torch.tensor([0.0, 0.0]), labels)))


def test_weights_are_read_as_they_were_written(network: Network, tmp_path: Path):
    network.write(tmp_path / "weights.npz")
    texts = [[1, 2], [5, 6, 7]]
    assert (Network.read(tmp_path / "weights.npz").encode(texts) == network.encode(texts)).all()


def test_a_file_that_is_not_of_the_network_is_refused(tmp_path: Path):
    path = tmp_path / "weights.npz"
    with pytest.raises(ModelNotFound, match=r"weights\.npz"):
        Network.read(path)
    path.write_bytes(b"no arrays")
    with pytest.raises(ModelNotFound):
        Network.read(path)
    with path.open("wb") as file:
        np.savez(file, **{"table.weight": np.zeros((4, 2), np.float32)})
    with pytest.raises(ModelNotFound):
        Network.read(path)
