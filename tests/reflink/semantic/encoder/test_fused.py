"""The forward pass of a GPU, with its kernels simulated, agrees with the one of the CPU in float32."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("transformers", reason="the encoder is an extra: pip install reflink-stream[semantic]")

import torch
from transformers import BertConfig, BertModel

from reflink.gpu.program import source
from reflink.semantic.encoder.bert import Bert
from reflink.semantic.encoder.fused import SOURCE, FusedBert
from reflink.semantic.encoder.model import Kind, Pooling
from tests.cuda.simulated import Simulated

Lengths = list[int]


def model(dim: int, heads: int) -> BertModel:
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=dim, num_attention_heads=heads, num_hidden_layers=2, intermediate_size=4 * dim, vocab_size=99,
        max_position_embeddings=64,
    )  # fmt: skip
    return BertModel(config).eval()


def encoders(dim: int, heads: int, kind: Kind) -> tuple[FusedBert, Bert]:
    transformer, pooling = model(dim, heads), Pooling(kind, 64)
    constants = FusedBert.constants(transformer.config)
    assert constants is not None
    fused = FusedBert(transformer, pooling, torch.device("cpu"), Simulated(source(SOURCE), constants))
    return fused, Bert(transformer, pooling, "cpu", "fp32")


@pytest.mark.parametrize("kind", ["mean", "max", "cls"])
@pytest.mark.parametrize(("dim", "heads", "lengths"), [(96, 3, [40, 17, 16, 3, 1]), (128, 2, [33, 8]), (80, 5, [2])])
def test_vectors_agree_with_those_of_the_cpu(dim: int, heads: int, lengths: Lengths, kind: Kind) -> None:
    fused, plain = encoders(dim, heads, kind)
    ids = np.random.default_rng(0).integers(0, 99, sum(lengths))
    found, expected = fused(ids, np.array(lengths)), plain(ids, np.array(lengths))
    assert found.dtype == torch.float32
    assert float(torch.cosine_similarity(found, expected).min()) > 0.99999
    assert float((found - expected).abs().max()) < 0.005 * float(expected.abs().max())


def test_a_text_has_the_same_vector_whatever_the_others() -> None:
    fused, _ = encoders(96, 3, "mean")
    lengths = [40, 20, 7]
    ids = np.random.default_rng(1).integers(0, 99, sum(lengths))
    together = fused(ids, np.array(lengths))
    alone = fused(ids[40:60], np.array([20]))
    assert float(torch.cosine_similarity(together[1:2], alone)) > 1 - 1e-6


def test_a_model_whose_heads_the_kernels_cannot_compute_is_refused() -> None:
    assert FusedBert.constants(model(72, 3).config) is None


def test_the_approximation_of_gelu_is_within_the_stated_error() -> None:
    x = torch.linspace(-20, 20, 400_001, dtype=torch.float64)
    exact, approximate = torch.nn.functional.gelu(x), torch.nn.functional.gelu(x, approximate="tanh")
    assert float((exact - approximate).abs().max()) < 0.0005
