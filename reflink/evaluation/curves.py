"""Precision and recall over the thresholds of a score, and the error of a hybrid of two approaches by its threshold.

The closed world, where every query has its target among the candidates: an approach always names its best candidate, and a
threshold decides whether that becomes a link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DECIMALS: Final = 6


def precision_recall(score: Floats, right: Floats, relevant: float) -> tuple[Floats, Floats, Floats]:
    """Thresholds descending, precision and recall at each: of the answers whose score is at least so high.

    ``score`` [n], NaN for a query without an answer; ``right`` [n], 1 where the answer is the target. Precision = right
    links / links, recall = right links / ``relevant``. One point for each distinct score.
    """
    answered = ~np.isnan(score)
    order = np.argsort(-score[answered], kind="stable")
    ordered, hits = score[answered][order], np.cumsum(right[answered][order])
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else np.empty(0, np.int64)
    return ordered[last], hits[last] / (last + 1), hits[last] / max(relevant, 1)


def nearest(precision: Floats, recall: Floats) -> int:
    """Which point, of one or more, is nearest (1, 1); of several, the one with the highest threshold."""
    return int(np.argmin((1 - precision) ** 2 + (1 - recall) ** 2))


def thinned(precision: Floats, recall: Floats, most: int, keep: Sequence[int] = ()) -> list[int]:
    """At most ``most`` points, ``keep`` among them, ascending: evenly along the curve, so that it still looks the same."""
    count = len(precision)
    if count <= max(most, 2):
        return list(range(count))
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(precision), np.diff(recall)))])
    even = np.searchsorted(along, np.linspace(0, along[-1], max(2, most - len(set(keep)))))
    return sorted({*even.clip(0, count - 1).tolist(), *keep})


def curve(score: Floats, right: Floats, threshold: float, most: int = 200) -> dict[str, Any]:
    """The curve of an approach's answers to all queries, as JSON holds it: fractions.

    Each query has its target in the catalog, so what is relevant may be counted in two ways. As the paper must have drawn it,
    for it speaks of (1, 1) as the optimum: the queries whose answer is right, which ``recall`` is a share of. By the
    protocol: all queries, which ``recall_of_all`` is a share of; it ends at 1 - error.
    ``nearest`` and ``nearest_of_all``: the points nearest (1, 1) in either way; None without a right answer.
    ``published``: where ``threshold``, the paper's, lies; None when no score is as high. ``points``: at most ``most``.
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
    """Error by threshold when answers below it are another approach's, and the share of the queries that get those.

    ``first``: score and right of the first approach's answers; ``fallback``: right of the other's.
    """
    score, right = first
    told = []
    for threshold in thresholds:
        kept = score >= threshold  # an answer that is not there is NaN, and not kept
        told.append({
            "threshold": threshold,
            "error": round(1 - float(np.where(kept, right, fallback).mean()), _DECIMALS),
            "fallback": round(1 - float(kept.mean()), _DECIMALS),
        })  # fmt: skip
    return told
