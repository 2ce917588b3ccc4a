"""What another judgement would change: kinds of change, their counts, and how far a sample can be trusted."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeVar

from reflink.entities import Link

Kind = Literal["relinked", "unlinked", "linked", "reason", "unchanged", "failed"]
#: In the order in which they are told, each with what it means.
KINDS: Final[dict[Kind, str]] = {
    "relinked": "linked, now to another work",
    "unlinked": "linked, now to none",
    "linked": "not linked, now linked",
    "reason": "not linked, now for another reason",
    "unchanged": "unchanged",
    "failed": "could not be judged",
}
#: 95 % of a normal distribution are within so many standard deviations.
_DEVIATIONS: Final = 1.959964

T = TypeVar("T")


@dataclass(frozen=True)
class Change:
    """A reference before and after; ``after`` is None when it could not be judged, and ``text`` is what was judged."""

    kind: Kind
    reference: str
    before: Link
    after: Link | None
    text: str

    def said(self) -> dict[str, Any]:
        """The same as JSON-ready builtins."""
        return {
            "kind": self.kind,
            "reference": self.reference,
            "text": self.text,
            "before": self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
        }


def kind_of(before: Link, after: Link | None, canonical: Callable[[str], str]) -> Kind:
    """What changed. Two ids of works that are one by now are no change; nor is another method or probability."""
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
    """Wilson's 95 % interval of the share that ``count`` of ``of``, drawn at random, stands for."""
    if of == 0:
        return 0.0, 1.0
    share, z2 = count / of, _DEVIATIONS**2
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _DEVIATIONS / (1 + z2 / of) * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


class Sample(Generic[T]):
    """At most ``size`` of all that is offered, each with the same chance; the same ones for the same ``seed``."""

    def __init__(self, size: int, seed: int) -> None:
        self._size, self._random = size, random.Random(seed)
        self.drawn: list[T] = []
        self.offered = 0

    def offer(self, item: T) -> None:
        """One more."""
        self.offered += 1
        if len(self.drawn) < self._size:
            self.drawn.append(item)
        elif (at := self._random.randrange(self.offered)) < self._size:
            self.drawn[at] = item


@dataclass
class Tally:
    """Counts changes and keeps the first ``examples`` of each kind."""

    examples: int = 3
    counts: Counter[Kind] = field(default_factory=Counter)
    kept: dict[Kind, list[Change]] = field(default_factory=dict)

    def take(self, changes: Iterable[Change]) -> None:
        """Counts them."""
        for change in changes:
            self.counts[change.kind] += 1
            kept = self.kept.setdefault(change.kind, [])
            if change.kind != "unchanged" and len(kept) < self.examples:
                kept.append(change)

    @property
    def judged(self) -> int:
        """Of all kinds."""
        return sum(self.counts.values())

    def said(self, selected: int) -> dict[str, Any]:
        """Counts and shares by kind; where fewer were judged than ``selected``, with intervals, of the share and of all."""
        told: dict[str, Any] = {}
        for kind in KINDS:
            count = self.counts[kind]
            told[kind] = {"count": count, "share": round(count / self.judged, 6) if self.judged else 0.0}
            if self.judged < selected:
                low, high = interval(count, self.judged)
                told[kind]["share_95"] = [round(low, 6), round(high, 6)]
                # What was seen is there for certain.
                told[kind]["of_all_95"] = [max(count, math.floor(low * selected)), math.ceil(high * selected)]
        return told
