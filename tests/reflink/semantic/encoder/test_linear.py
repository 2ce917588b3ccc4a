"""Linear layers against torch's."""

import pytest

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

from reflink.semantic.encoder import linear as module  # noqa: E402
from reflink.semantic.encoder.linear import linear  # noqa: E402


@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 1e-5), (torch.bfloat16, 0.03)])
def test_the_result_equals_the_product_with_and_without_onednn(
    monkeypatch: pytest.MonkeyPatch, gelu: bool, packed: bool, dtype: torch.dtype, error: float
) -> None:
    if not packed:
        monkeypatch.setattr(module, "_packed", lambda *_: None)
    generator = torch.Generator().manual_seed(1)
    weight, bias = torch.randn(24, 16, generator=generator) / 4, torch.randn(24, generator=generator)
    for rows in (1, 3, 700):
        x = torch.randn(rows, 16, generator=generator)
        expected = torch.nn.functional.linear(x, weight, bias)
        expected = torch.nn.functional.gelu(expected) if gelu else expected
        found = linear(weight.to(dtype), bias.to(dtype), gelu=gelu)(x.to(dtype))
        assert found.dtype == dtype
        assert ((found.float() - expected).abs() / (1 + expected.abs())).max() < error


def test_a_torch_without_the_operation_is_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.ops, "mkldnn", object())
    assert linear(torch.ones(2, 3), torch.zeros(2))(torch.ones(1, 3)).tolist() == [[3, 3]]
