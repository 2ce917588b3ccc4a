"""The queries of the benchmark of the lexical search on a GPU; ``tests/reflink/lexical/gpu`` tests the search."""

from __future__ import annotations

import numpy as np

from benchmarks.gpu import lexical as gpu_lexical
from benchmarks.lexical.recombined import Recipe
from reflink.catalog.reading import read_works
from reflink.entities import Work
from tests.data import ROOT


def test_queries_find_their_targets_and_respect_the_floor() -> None:
    recipe = Recipe([work for work in read_works(ROOT / "examples" / "works.jsonl") if isinstance(work, Work)])
    catalog = gpu_lexical.built(recipe, 3000, "TVLY")
    kinds = gpu_lexical.kinds_of_queries(recipe, catalog, "TVLY", 40)
    targets = kinds["with target and seed"].seeds
    found = {name: gpu_lexical.search_on_cpu(catalog, queries)[1] for name, queries in kinds.items()}
    assert np.mean(found["with target"][0][:, 0] == targets) > 0.9
    assert np.median(found["with target"][1][:, 0]) > np.median(found["without target"][1][:, 0])
    for each in zip(found["with target"], found["with target and seed"], strict=True):
        assert each[0].tobytes() == each[1].tobytes()
    rows, scores, numbers = found[f"without target, floor {gpu_lexical.FLOOR}"]
    assert (scores[numbers[:, None] > np.arange(gpu_lexical.K)] >= gpu_lexical.FLOOR).all()
    assert (rows[numbers[:, None] <= np.arange(gpu_lexical.K)] == -1).all()
