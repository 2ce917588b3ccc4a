"""Number of examples of property tests and model checks, by the tier of the test run."""

from __future__ import annotations

import os
from typing import Final

# Read on import: tests/conftest.py deletes the variables REFLINK_* later.
_TIER: Final = os.environ.get("REFLINK_TEST_TIER", "")


def examples(ci: int) -> int:
    """Return the number of examples of this run: ``ci`` in CI, a quarter in the tier ``dev``, ten times in ``nightly``."""
    match _TIER:
        case "dev":
            return max(5, ci // 4)
        case "nightly":
            return 10 * ci
        case _:
            return ci
