"""Attention over concatenated texts against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

from reflink.semantic.encoder.attention import Layout, by_products, by_runs, choose  # noqa: E402
from tests.profiles import examples  # noqa: E402

CPU = torch.device("cpu")
HEADS, DIM = 3, 12


@settings(max_examples=examples(40))
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 99))
def test_every_text_attends_only_to_itself(lengths: list[int], seed: int) -> None:
    layout = Layout.of(np.array(lengths), CPU)
    assert layout.starts.tolist() == np.concatenate([[0], np.cumsum(lengths)]).tolist()
    assert layout.longest == max(lengths)
    qkv = torch.randn(sum(lengths), 3 * DIM, generator=torch.Generator().manual_seed(seed))
    expected = []
    for part in qkv.split(lengths):
        query, key, value = part.double().view(-1, 3, HEADS, DIM // HEADS).permute(1, 2, 0, 3)
        weights = torch.softmax(query @ key.transpose(1, 2), -1)
        expected.append((weights @ value).transpose(0, 1).reshape(-1, DIM))
    for attend in (by_products, by_runs):
        assert torch.allclose(attend(qkv, HEADS, layout).double(), torch.cat(expected), atol=1e-5)


def test_without_cuda_no_attention_of_cuda_is_chosen() -> None:
    assert choose(CPU, torch.bfloat16, HEADS, DIM) is by_products
    assert choose(torch.device("meta"), torch.float16, HEADS, DIM) is by_runs
