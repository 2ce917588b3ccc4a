"""Figures of a run: error in the closed world; precision, recall and false links in the open world, with 95% intervals.

Every figure is a share in [0, 1]. Intervals come from the bootstrap over citing papers (`reflink.evaluation.bootstrap`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from reflink.evaluation import causes
from reflink.evaluation.bootstrap import intervals
from reflink.evaluation.calibration import calibration, thresholds
from reflink.evaluation.contents import CONTENTS
from reflink.evaluation.outcomes import Outcome
from reflink.evaluation.proportions import wilson as interval

__all__ = ["Outcome", "closed_figures", "figures", "interval", "open_figures"]


def _shares(outcomes: Sequence[Outcome], **parts: tuple[Any, Any]) -> dict[str, Any]:
    """Return each share by name, and its interval as ``name_interval``."""
    papers = [outcome.link.citing for outcome in outcomes]
    sums = {
        name: (float(np.broadcast_to(hits, len(papers)).sum()), float(np.broadcast_to(counted, len(papers)).sum()))
        for name, (hits, counted) in parts.items()
    }
    found = intervals(papers, parts)
    return {
        **{name: round(hits / counted, 6) if counted else 0.0 for name, (hits, counted) in sums.items()},
        **{f"{name}_interval": found[name] for name in parts},
    }


def closed_figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return ``error``, the share of the queries not linked to their target, with counts and causes."""
    wrong = np.array([not outcome.right for outcome in outcomes], dtype=float)
    return {**_shares(outcomes, error=(wrong, 1)), "queries": len(outcomes), **_counts(outcomes)}


def open_figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return ``precision`` (right / links), ``recall`` (right / queries with a target), ``f1``, and ``false_link`` (links of
    queries without a target / these queries), with counts and causes.
    """
    linked = np.array([outcome.link.cited is not None for outcome in outcomes], dtype=float)
    right = np.array([outcome.right for outcome in outcomes], dtype=float)
    present = np.array([outcome.present for outcome in outcomes], dtype=float)
    absent = 1 - present
    return {
        **_shares(
            outcomes, precision=(right, linked), recall=(right, present), f1=(right, (linked + present) / 2),
            false_link=(linked * absent, absent),
        ),
        "queries": len(outcomes), "present": int(present.sum()), "absent": int(absent.sum()), "links": int(linked.sum()),
        "right": int(right.sum()), **_counts(outcomes),
    }  # fmt: skip


def figures(outcomes: Sequence[Outcome], *, closed: bool) -> dict[str, Any]:
    """Return the figures of all queries, by kind of query, and by contents of the reference (``contents``).

    For an open world also the calibration and thresholds of all, and ``ece`` of each part. ``without_suspects``: the same
    without the queries whose target is probably false in the data, if there are any.
    """

    def of(part: Sequence[Outcome]) -> dict[str, Any]:
        return closed_figures(part) if closed else {**open_figures(part), "ece": calibration(part).get("ece")}

    by_kind = {kind: of(part) for kind, part in sorted(_parts(outcomes, lambda each: each.kind).items())}
    parts = _parts(outcomes, lambda each: each.contents)
    by_contents = {contents: of(parts[contents]) for contents in CONTENTS if contents in parts}
    sound = [outcome for outcome in outcomes if not outcome.suspect]
    known: dict[str, Any] = {} if len(sound) == len(outcomes) else {"without_suspects": of(sound)}
    known |= {} if closed else {"calibration": calibration(outcomes), "thresholds": thresholds(outcomes)}
    return {
        **of(outcomes), "kinds": by_kind, "contents": by_contents, **{name: value for name, value in known.items() if value},
    }  # fmt: skip


def _parts(outcomes: Iterable[Outcome], key: Callable[[Outcome], str]) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(key(outcome), []).append(outcome)
    return found


def _counts(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    found = Counter(outcome.link.method or outcome.link.unresolved or "none" for outcome in outcomes)
    return {"methods": dict(sorted(found.items())), "causes": causes.counted(outcomes)}
