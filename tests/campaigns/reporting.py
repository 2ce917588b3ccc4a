"""Reports of campaigns as JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_json(path: Path | None, report: Any) -> None:
    """Replace the file atomically, so that a report that is written again and again is always complete; None: do nothing."""
    if path is not None:
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(json.dumps(report, indent=1) + "\n")
        partial.replace(path)
