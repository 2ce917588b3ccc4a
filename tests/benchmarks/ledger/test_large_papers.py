"""The benchmark of large papers measures a paper of which all references are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.ledger.large_papers import main, measured


def test_it_measures_papers_of_both_sizes(tmp_path: Path, capsys: Any):
    assert all(each > 0 for each in measured(30, tmp_path))
    assert main(["--references", "12", "50"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0].strip() for line in lines[2:]] == ["12", "50"]
