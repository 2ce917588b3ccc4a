"""The changes that a re-evaluation would make: their kinds, their counts, and confidence intervals for a sample."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeVar

from reflink.entities import Link

Kind = Literal["relinked", "unlinked", "linked", "reason", "unchanged", "failed"]
#: The kinds in the order of the report, each with its description.
KINDS: Final[dict[Kind, str]] = {
    "relinked": "linked, now to another work",
    "unlinked": "linked, now not linked",
    "linked": "not linked, now linked",
    "reason": "not linked, now with another reason",
    "unchanged": "unchanged",
    "failed": "could not be evaluated",
}
#: 95 % of a normal distribution lie within this number of standard deviations.
_DEVIATIONS: Final = 1.959964

T = TypeVar("T")


@dataclass(frozen=True)
class Change:
    """The outcomes of a reference before and after its re-evaluation.

    ``after`` is None if the re-evaluation failed. ``text`` is the reference's raw text.
    """

    kind: Kind
    reference: str
    before: Link
    after: Link | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready builtins."""
        return {
            "kind": self.kind,
            "reference": self.reference,
            "text": self.text,
            "before": self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
        }


def kind_of(before: Link, after: Link | None, canonical: Callable[[str], str]) -> Kind:
    """Return the kind of a change.

    Two ids with the same canonical id count as unchanged, and so does another method or probability.
    """
    if after is None:
        return "failed"
    if before.cited is not None and after.cited is not None:
        return "unchanged" if canonical(before.cited) == canonical(after.cited) else "relinked"
    if before.cited is not None:
        return "unlinked"
    if after.cited is not None:
        return "linked"
    return "unchanged" if before.unresolved == after.unresolved else "reason"


def interval(count: int, of: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share of which a random sample has ``count`` of ``of``; (0, 1) for an empty sample."""
    if of == 0:
        return 0.0, 1.0
    share, z2 = count / of, _DEVIATIONS**2
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _DEVIATIONS / (1 + z2 / of) * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


class Sample(Generic[T]):
    """A uniform random sample of at most ``size`` of the offered items, by reservoir sampling. Deterministic for a ``seed``."""

    def __init__(self, size: int, seed: int) -> None:
        self._size, self._random = size, random.Random(seed)
        self.drawn: list[T] = []
        self.offered = 0

    def offer(self, item: T) -> None:
        """Offer one more item to the sample."""
        self.offered += 1
        if len(self.drawn) < self._size:
            self.drawn.append(item)
        elif (at := self._random.randrange(self.offered)) < self._size:
            self.drawn[at] = item


@dataclass
class Tally:
    """Counts changes by kind and keeps the first ``examples`` of each kind except ``unchanged``."""

    examples: int = 3
    counts: Counter[Kind] = field(default_factory=Counter)
    kept: dict[Kind, list[Change]] = field(default_factory=dict)

    def take(self, change: Change) -> None:
        """Count the change."""
        self.counts[change.kind] += 1
        kept = self.kept.setdefault(change.kind, [])
        if change.kind != "unchanged" and len(kept) < self.examples:
            kept.append(change)

    @property
    def judged(self) -> int:
        """The number of changes of all kinds."""
        return sum(self.counts.values())

    def report(self, selected: int) -> dict[str, Any]:
        """Return counts and shares by kind.

        If fewer references were evaluated than ``selected``, include 95 % intervals of the share and of the number in all
        selected references.
        """
        report: dict[str, Any] = {}
        for kind in KINDS:
            count = self.counts[kind]
            report[kind] = {"count": count, "share": round(count / self.judged, 6) if self.judged else 0.0}
            if self.judged < selected:
                low, high = interval(count, self.judged)
                report[kind]["share_95"] = [round(low, 6), round(high, 6)]
                # At least the observed number is certain.
                report[kind]["of_all_95"] = [max(count, math.floor(low * selected)), math.ceil(high * selected)]
        return report
