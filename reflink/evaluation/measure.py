"""Figures of a run: error in the closed world; precision, recall and false links in the open one, with 95% intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from reflink.entities import Link


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one query. ``present``: its target is in the catalog. ``right``: the link names it."""

    rid: str
    kind: str
    present: bool
    right: bool
    link: Link

    def to_dict(self) -> dict[str, Any]:
        """One line of an outcomes file."""
        link = self.link
        line = {
            "rid": self.rid, "cited": link.cited, "probability": link.probability, "present": self.present,
            "right": self.right, "kind": self.kind, "method": link.method, "score": link.score,
            "unresolved": link.unresolved, "reasons": list(link.reasons) or None,
            "runner_up": link.runner_up.to_dict() if link.runner_up else None,
        }  # fmt: skip
        return {name: value for name, value in line.items() if value is not None or name in ("cited", "probability")}


def interval(hits: int, n: int) -> list[float]:
    """Wilson's 95% interval of the share ``hits / n``; [0, 1] without observations."""
    if n == 0:
        return [0.0, 1.0]
    z, share = 1.959964, hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return [round(max(0.0, centre - half), 6), round(min(1.0, centre + half), 6)]


def _share(hits: int, n: int) -> float:
    return round(hits / n, 6) if n else 0.0


def closed_figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """``error``: share of the queries not linked to their target."""
    wrong = sum(not outcome.right for outcome in outcomes)
    return {
        "error": _share(wrong, len(outcomes)), "error_interval": interval(wrong, len(outcomes)),
        "queries": len(outcomes), **_methods(outcomes),
    }  # fmt: skip


def open_figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """``precision``: right / links; ``recall``: right / queries with a target; ``false_link``: linked / queries without."""
    links = sum(outcome.link.cited is not None for outcome in outcomes)
    right = sum(outcome.right for outcome in outcomes)
    present = sum(outcome.present for outcome in outcomes)
    absent = len(outcomes) - present
    false = sum(outcome.link.cited is not None and not outcome.present for outcome in outcomes)
    return {
        "precision": _share(right, links), "recall": _share(right, present), "f1": _share(2 * right, links + present),
        "false_link": _share(false, absent), "precision_interval": interval(right, links),
        "recall_interval": interval(right, present), "false_link_interval": interval(false, absent),
        "queries": len(outcomes), "present": present, "absent": absent, "links": links, "right": right,
        **_methods(outcomes),
    }  # fmt: skip


def figures(outcomes: Sequence[Outcome], *, closed: bool) -> dict[str, Any]:
    """The figures of all queries, and apart for each kind of query there is."""
    of = closed_figures if closed else open_figures
    kinds = sorted({outcome.kind for outcome in outcomes})
    by_kind = {kind: of([outcome for outcome in outcomes if outcome.kind == kind]) for kind in kinds}
    return {**of(outcomes), "kinds": by_kind}


def _methods(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    found = Counter(outcome.link.method or outcome.link.unresolved or "none" for outcome in outcomes)
    return {"methods": dict(sorted(found.items()))}
