"""The figures of a GPU in the docs are those of benchmarks/gpu/h100.json."""

from __future__ import annotations

import json

from benchmarks.gpu.table import table
from tests.data import ROOT


def test_the_table_of_the_docs_is_that_of_the_file() -> None:
    figures = json.loads((ROOT / "benchmarks" / "gpu" / "h100.json").read_text(encoding="utf-8"))
    printed = table(figures)
    assert printed in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    best = max(figures["both"]["rates"].values())
    assert f"{best:,.0f} references/s" in printed
