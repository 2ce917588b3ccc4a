"""The report of an evaluation: one HTML file that needs nothing else, with tables, pictures and every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from reflink.evaluation.report.page import page
from reflink.evaluation.run import Evaluation

__all__ = ["page", "write"]

#: Worlds whose mistakes are counted and not listed: they are those of the others again.
_NOT_LISTED: Final = ("open_80", "open_20")


def write(evaluation: Evaluation, folder: Path) -> Path:
    """``index.html`` in the folder, which is made if need be; returns its path."""
    listed = {name: found for name, found in evaluation.mistakes.items() if name not in _NOT_LISTED}
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "index.html"
    target.write_text(page(evaluation.measured, listed), encoding="utf-8")
    return target
