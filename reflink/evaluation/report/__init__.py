"""The report of an evaluation: one self-contained HTML file with tables, pictures and every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from reflink.errors import ReportFailed

try:
    from reflink.evaluation.report.page import page
except ImportError as error:
    raise ReportFailed(f"the report needs matplotlib: pip install 'reflink-stream[report]' ({error})") from None
from reflink.evaluation.run import Evaluation

__all__ = ["page", "write"]

#: Worlds whose mistakes are counted but not listed, because they repeat the mistakes of the other worlds.
_NOT_LISTED: Final = ("open_80", "open_20", "pubmed_known", "mixture")


def write(evaluation: Evaluation, folder: Path) -> Path:
    """Write ``index.html`` into the folder, creating the folder if necessary; return its path."""
    listed = {name: found for name, found in evaluation.mistakes.items() if name not in _NOT_LISTED}
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "index.html"
    target.write_text(page(evaluation.measured, listed), encoding="utf-8")
    return target
