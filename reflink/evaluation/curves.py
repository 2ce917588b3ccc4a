"""Precision and recall over the thresholds of a score, and the error of a hybrid of two approaches by its threshold.

Both are measured in the closed world, where every query has its target among the candidates. An approach always returns its
best candidate, and the threshold decides whether it is linked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DECIMALS: Final = 6


def precision_recall(score: Floats, right: Floats, relevant: float) -> tuple[Floats, Floats, Floats]:
    """Return descending thresholds, and precision and recall of the answers whose score is at least the threshold.

    ``score`` [n], NaN for a query without an answer; ``right`` [n], 1 if the answer is the target. Precision = right links /
    links, recall = right links / ``relevant``. One point for each distinct score.
    """
    answered = ~np.isnan(score)
    order = np.argsort(-score[answered], kind="stable")
    ordered, hits = score[answered][order], np.cumsum(right[answered][order])
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else np.empty(0, np.int64)
    return ordered[last], hits[last] / (last + 1), hits[last] / max(relevant, 1)


def nearest(precision: Floats, recall: Floats) -> int:
    """Return the index of the point nearest (1, 1), of at least one; of several, the point with the highest threshold."""
    return int(np.argmin((1 - precision) ** 2 + (1 - recall) ** 2))


def thinned(precision: Floats, recall: Floats, most: int, keep: Sequence[int] = ()) -> list[int]:
    """Return ascending indices of at most ``most`` points, including ``keep``, evenly spaced along the curve."""
    count = len(precision)
    if count <= max(most, 2):
        return list(range(count))
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(precision), np.diff(recall)))])
    even = np.searchsorted(along, np.linspace(0, along[-1], max(2, most - len(set(keep)))))
    return sorted({*even.clip(0, count - 1).tolist(), *keep})


def curve(score: Floats, right: Floats, threshold: float, most: int = 200) -> dict[str, Any]:
    """Return the curve of an approach's answers to all queries as JSON data, in fractions.

    Each query has its target in the catalog, so the relevant queries can be counted in two ways. ``recall`` is a share of the
    queries whose answer is right; the paper must have used it, because it calls (1, 1) the optimum. ``recall_of_all`` is a
    share of all queries, as in the protocol; it ends at 1 - error.
    ``nearest`` and ``nearest_of_all``: the points nearest (1, 1) for either count; None without a right answer.
    ``published``: the point at ``threshold``, the paper's; None if no score is as high. ``points``: at most ``most``.
    """
    relevant = float(right.sum())
    thresholds, precision, recall = precision_recall(score, right, relevant)
    of_all = recall * relevant / max(len(score), 1)
    at = int(np.searchsorted(-thresholds, -threshold, side="right")) - 1

    def point(row: int) -> dict[str, float]:
        values = {
            "threshold": thresholds[row], "precision": precision[row], "recall": recall[row], "recall_of_all": of_all[row],
        }  # fmt: skip
        return {name: round(float(value), _DECIMALS) for name, value in values.items()}

    best = [nearest(precision, recall), nearest(precision, of_all)] if relevant else []
    kept = sorted({*best, *([at] if at >= 0 else [])})
    return {
        "points": [point(row) for row in thinned(precision, recall, most, kept)],
        "nearest": point(best[0]) if best else None,
        "nearest_of_all": point(best[1]) if best else None,
        "published": {**point(at), "threshold": threshold} if at >= 0 else None,
    }


def hybrid(first: tuple[Floats, Floats], fallback: Floats, thresholds: Sequence[float]) -> list[dict[str, float]]:
    """Return, by threshold, the error if another approach answers the queries below it, and the share of these queries.

    ``first``: score and right of the first approach's answers; ``fallback``: right of the other approach's answers.
    """
    score, right = first
    steps = []
    for threshold in thresholds:
        kept = score >= threshold  # False for NaN, a missing answer
        steps.append({
            "threshold": threshold,
            "error": round(1 - float(np.where(kept, right, fallback).mean()), _DECIMALS),
            "fallback": round(1 - float(kept.mean()), _DECIMALS),
        })  # fmt: skip
    return steps
