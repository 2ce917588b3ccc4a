"""What the benchmark of the lexical search on a GPU asks, and what it says without one; its search: see simulated_device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.gpu import lexical as gpu_lexical
from benchmarks.lexical.recombined import Recipe
from reflink.catalog.reading import read_works
from reflink.entities import Work
from tests.data import ROOT


def test_its_queries_have_a_target_or_none() -> None:
    recipe = Recipe([work for work in read_works(ROOT / "examples" / "works.jsonl") if isinstance(work, Work)])
    catalog = gpu_lexical.built(recipe, 3000, "TVLY")
    ways = gpu_lexical.asked(recipe, catalog, "TVLY", 40)
    targets = ways["with target and seed"].seeds
    found = {name: gpu_lexical.on_the_processor(catalog, queries)[1] for name, queries in ways.items()}
    assert np.mean(found["with target"][0][:, 0] == targets) > 0.9
    assert np.median(found["with target"][1][:, 0]) > np.median(found["without target"][1][:, 0])
    for each in zip(found["with target"], found["with target and seed"], strict=True):
        assert each[0].tobytes() == each[1].tobytes()
    rows, scores, numbers = found[f"without target, floor {gpu_lexical.FLOOR}"]
    assert (scores[numbers[:, None] > np.arange(gpu_lexical.K)] >= gpu_lexical.FLOOR).all()
    assert (rows[numbers[:, None] <= np.arange(gpu_lexical.K)] == -1).all()


def test_without_a_gpu_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu_lexical, "available", lambda: False)
    assert gpu_lexical.main(["--json", str(tmp_path / "figures.json")]) == 3
    assert "no GPU here" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
