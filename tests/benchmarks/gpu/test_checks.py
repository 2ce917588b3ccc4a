"""The benchmark of everything that runs on a GPU, at a small size, with the CPU as torch device."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from reflink.catalog.reading import read_works
from reflink.entities import Work
from reflink.text import work_text
from tests.data import ROOT

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

from benchmarks.gpu import __main__ as gpu  # noqa: E402 - needs torch
from benchmarks.gpu import encoder as gpu_encoder  # noqa: E402
from benchmarks.gpu import search as gpu_search  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """More threads do not speed up small batches."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def some_texts(number: int) -> list[str]:
    works = (work for work in read_works(ROOT / "examples" / "works.jsonl") if isinstance(work, Work))
    return [work_text(work, "TVL", lexical=False) for work in islice(works, number)]


def test_the_encoder_is_checked_and_timed(capsys: pytest.CaptureFixture[str]):
    held, figures = gpu_encoder.measure(some_texts(12), "cpu", budgets=(512,), calls=(4,))
    assert held
    assert set(figures["rates"]) == {"model alone", "token budget 512", "4 texts a call", "sentence-transformers"}
    assert 0 < figures["of_products"] < 1
    assert json.loads(json.dumps(figures)) == figures
    assert "of the time" in capsys.readouterr().out


def test_the_path_from_texts_to_hits_is_checked_and_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    held, figures = gpu.both(some_texts(6), gpu_search.made(tmp_path, 700, 384), "cpu", batches=(3, 6))
    assert held
    assert set(figures["rates"]) == {"3", "6"}
    assert min(figures["rates"].values()) > 0
    assert "of the aim of 25,000" in capsys.readouterr().out


def test_the_search_is_checked_and_timed(tmp_path: Path):
    held, figures = gpu_search.measure(gpu_search.made(tmp_path, 700, 16), "cpu", batches=(1, 8))
    assert held
    assert set(figures["rates"]) == {"1", "8"}


@pytest.mark.parametrize("part", gpu.PARTS)
def test_without_a_gpu_the_command_ends_with_a_message(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main(["--part", part, "--json", str(tmp_path / "figures.json")]) == 3
    assert "no GPU here" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
