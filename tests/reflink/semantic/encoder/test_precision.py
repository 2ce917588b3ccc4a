"""The precision chosen for works and for references."""

from __future__ import annotations

from itertools import product

import pytest

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

from reflink.semantic import Encoder  # noqa: E402 - needs torch
from reflink.semantic.encoder import precision  # noqa: E402
from reflink.semantic.encoder.precision import DTYPES, choose_precision, choose_query_precision  # noqa: E402

PROBES = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")


def set_probes(monkeypatch: pytest.MonkeyPatch, *has: bool) -> None:
    """Set the results of torch's probes for bf16."""
    for name, answer in zip(PROBES, has, strict=True):
        monkeypatch.setattr(torch.cpu, name, lambda answer=answer: answer, raising=False)


@pytest.mark.parametrize("has", list(product([True, False], repeat=2)))
def test_works_are_fp32_on_every_cpu_and_fp16_on_cuda(monkeypatch: pytest.MonkeyPatch, has: tuple[bool, bool]) -> None:
    set_probes(monkeypatch, *has)
    assert [choose_precision(device) for device in ("cpu", "cuda", "cuda:1", "mps")] == ["fp32", "fp16", "fp16", "fp32"]


@pytest.mark.parametrize("has", list(product([True, False], repeat=2)))
def test_references_are_bf16_beside_fp32_works_where_the_cpu_computes_it(
    monkeypatch: pytest.MonkeyPatch, has: tuple[bool, bool]
) -> None:
    set_probes(monkeypatch, *has)
    assert choose_query_precision("cpu", "fp32") == ("bf16" if any(has) else "fp32")


def test_references_are_fp32_if_torch_has_no_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROBES:
        monkeypatch.delattr(torch.cpu, name, raising=False)
    assert choose_query_precision("cpu", "fp32") == "fp32"


def test_otherwise_references_have_the_precision_of_works(monkeypatch: pytest.MonkeyPatch) -> None:
    set_probes(monkeypatch, True, True)
    for device, of_works in product(("cpu", "cuda", "cuda:1", "mps"), DTYPES):
        if (device, of_works) != ("cpu", "fp32"):
            assert choose_query_precision(device, of_works) == of_works


def test_an_encoder_has_the_precision_of_works_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_computes_bf16", lambda: True)
    assert Encoder(device="cpu").precision == "fp32"
