"""The forward pass of BERT against transformers."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")
transformers = pytest.importorskip("transformers", reason="the encoder is an extra: pip install reflink-stream[semantic]")

from reflink.semantic.encoder import attention  # noqa: E402
from reflink.semantic.encoder.bert import Bert  # noqa: E402
from reflink.semantic.encoder.model import Kind, Pooling  # noqa: E402

LENGTHS = np.array([9, 5, 5, 5, 2, 1])


@pytest.fixture(scope="module")
def transformer() -> Any:
    """Return a BERT with random weights and another shape than the default model."""
    torch.manual_seed(3)
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=70,
        max_position_embeddings=16, initializer_range=0.3,
    )  # fmt: skip
    return transformers.BertModel(config).eval()


@pytest.mark.parametrize("kind", ["mean", "cls", "max"])
@pytest.mark.parametrize("attend", [attention.by_products, attention.by_runs])
@pytest.mark.parametrize(("precision", "error"), [("fp32", 1e-4), ("bf16", 0.1)])
def test_the_forward_pass_agrees_with_transformers(
    transformer: Any, monkeypatch: pytest.MonkeyPatch, kind: Kind, attend: Any, precision: Any, error: float
) -> None:
    monkeypatch.setattr(attention, "choose", lambda *_: attend)
    ids = np.random.default_rng(2).integers(0, 50, LENGTHS.sum())
    with torch.inference_mode():
        vectors = Bert(transformer, Pooling(kind, None), "cpu", precision)(ids, LENGTHS)
        assert vectors.dtype == torch.float32
        for vector, part in zip(vectors, np.split(ids, np.cumsum(LENGTHS)[:-1]), strict=True):
            states = transformer(input_ids=torch.from_numpy(part)[None]).last_hidden_state[0]
            expected = {"mean": states.mean(0), "cls": states[0], "max": states.amax(0)}[kind]
            assert (vector - expected).abs().max() < error


def test_fits_refuses_variants_of_bert() -> None:
    plain = {"model_type": "bert", "hidden_act": "gelu", "hidden_size": 8, "num_attention_heads": 2}
    assert Bert.fits(SimpleNamespace(**plain))
    for other in (
        {"model_type": "roberta"}, {"hidden_act": "gelu_new"}, {"position_embedding_type": "relative_key"},
        {"is_decoder": True}, {"num_attention_heads": 3},
    ):  # fmt: skip
        assert not Bert.fits(SimpleNamespace(**(plain | other)))
