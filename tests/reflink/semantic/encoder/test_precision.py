"""The precision chosen for works."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

from reflink.semantic import Encoder
from reflink.semantic.encoder.precision import choose_precision


def test_works_are_fp32_on_a_cpu_and_fp16_on_cuda() -> None:
    assert [choose_precision(device) for device in ("cpu", "cuda", "cuda:1", "mps")] == ["fp32", "fp16", "fp16", "fp32"]


def test_an_encoder_has_the_precision_of_works_by_default() -> None:
    assert Encoder(device="cpu").precision == "fp32"
