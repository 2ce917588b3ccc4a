"""Precision, recall, F1 and false links of answers that are right or wrong, with 95% intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from reflink.evaluation.measure import interval

_RESAMPLES: Final = 2000


@dataclass(frozen=True, slots=True)
class Answer:
    """``present``: a target exists. ``linked``: the answer is a link. ``right``: the link names the target."""

    present: bool
    linked: bool
    right: bool


def scores(answers: Iterable[Answer]) -> dict[str, Any]:
    """``precision``: right / linked; ``recall``: right / present; ``false_link``: linked / absent; ``accuracy`` of all.

    Shares have Wilson's interval, F1 has that of 2,000 resamples of the answers.
    """
    counted = Counter(answers)
    n = sum(counted.values())
    present = sum(count for answer, count in counted.items() if answer.present)
    linked = sum(count for answer, count in counted.items() if answer.linked)
    right = sum(count for answer, count in counted.items() if answer.right)
    false = sum(count for answer, count in counted.items() if answer.linked and not answer.present)
    refused = sum(count for answer, count in counted.items() if not answer.linked and not answer.present)
    shares = {
        "precision": (right, linked), "recall": (right, present), "false_link": (false, n - present),
        "accuracy": (right + refused, n),
    }  # fmt: skip
    figures: dict[str, Any] = {"n": n, "present": present, "absent": n - present, "linked": linked, "right": right}
    for name, (hits, of) in shares.items():
        figures[name] = hits / of if of else None
        figures[f"{name}_interval"] = interval(hits, of)
    figures["f1"] = 2 * right / (linked + present) if linked + present else None
    figures["f1_interval"] = _f1_interval(counted)
    return figures


def _f1_interval(counted: Counter[Answer]) -> list[float]:
    """Resample the counts of the few kinds of answers, which is equivalent to resampling the answers."""
    kinds = list(counted)
    counts = np.array([counted[kind] for kind in kinds], dtype=np.int64)
    if not counts.sum():
        return [0.0, 1.0]
    drawn = np.random.default_rng(1).multinomial(counts.sum(), counts / counts.sum(), _RESAMPLES)
    right = drawn @ np.array([kind.right for kind in kinds])
    both = drawn @ np.array([kind.linked + kind.present for kind in kinds])
    f1 = 2 * right / np.maximum(both, 1)
    return [round(float(bound), 6) for bound in np.quantile(f1, (0.025, 0.975))]
