"""The published rule in the open world: link the semantic nearest neighbour if its cosine reaches a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from reflink.evaluation.calibration import sweep
from reflink.evaluation.outcomes import Outcome

#: Thresholds of the curve.
COSINES: Final = tuple(round(0.5 + 0.01 * step, 2) for step in range(50))


def threshold_figures(outcomes: Sequence[Outcome], threshold: float) -> dict[str, Any]:
    """Return the figures at ``threshold``, at the threshold with the highest F1, and over COSINES as ``thresholds``.

    ``outcomes``: of a policy that links every nearest neighbour, whatever its cosine. A reference below the threshold gets no
    link, because the second stage of the recommended framework links every reference and would refuse none.
    """
    kept = [outcome for outcome in outcomes if outcome.link.method == "semantic"]
    cosines = np.array([outcome.link.score for outcome in kept], dtype=float)
    right = np.array([outcome.right for outcome in kept], dtype=bool)
    present = np.array([outcome.present for outcome in kept], dtype=bool)
    targets = sum(outcome.present for outcome in outcomes)
    at, *curve = sweep(cosines, right, present, targets, len(outcomes), [threshold, *COSINES], "threshold")
    return {**at, "best": max(curve, key=lambda row: row["f1"]), "thresholds": curve}
