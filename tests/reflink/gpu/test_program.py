"""The kernels compile for the GPUs that people have; without CuPy nothing is compiled, with a reason in the log."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

import torch

from reflink.gpu import program
from reflink.semantic.encoder import fused
from reflink.semantic.gpu import products
from tests.cuda.nvrtc import ARCHITECTURES, compiled


def names(source: str, constants: dict[str, int], architecture: str) -> set[str]:
    return compiled(program.complete(source), program.options(constants), architecture)[0]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("dim", [384, 768])
def test_the_kernels_of_the_search_compile(dim: int, architecture: str) -> None:
    expected = {"group_maxima", "maxima_of_few", "exact_scores"}
    assert names(program.source(products.SOURCE), {"DIM": dim}, architecture) == expected


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("dim", "head"), [(384, 32), (768, 64), (96, 16)])
def test_the_kernels_of_the_encoder_compile(dim: int, head: int, architecture: str) -> None:
    expected = {"embedded", "attended", "add_and_normalise", "pooled"}
    assert names(program.source(fused.SOURCE), {"DIM": dim, "HEAD": head}, architecture) == expected


def test_without_cupy_there_are_no_kernels_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with caplog.at_level(logging.WARNING):
        assert program.compiled(products.SOURCE, {"DIM": 384}, torch.device("cuda")) is None
    assert caplog.records[0].__dict__["file"] == "search.cu"
    assert "cupy" in caplog.records[0].__dict__["reason"]
