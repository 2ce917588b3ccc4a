"""Divide the records of a component into works, so that a wrong identifier or a wrong judgement joins few records.

Records are joined pair by pair, the best pair first, and only if no record of the one work contradicts a record of the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Final

from reflink.folding import compact
from reflink.merging.likeness import IDENTIFIERS, unlike
from reflink.merging.members import Member
from reflink.merging.rules import Rules

LIMIT: Final = "too many records of one work"
CROWDED: Final = "too many records have the identifier"
JUDGED: Final = "judged to be other works"

#: Fields whose agreement orders the pairs.
_AGREEING: Final = ("year", "volume", "fpage", "type")

Pair = tuple[int, int]


def bearers_of(members: Sequence[Member]) -> dict[str, list[int]]:
    """Return the positions of the records with each identifier, ascending."""
    found: dict[str, list[int]] = {}
    for at, member in enumerate(members):
        for key in member.work.ids.keys():  # noqa: SIM118
            found.setdefault(key, []).append(at)
    return found


class Clustering:
    """Records joined to works. ``members`` are in the order of the rules; ``same`` has the judged pairs with probabilities.

    ``crowded``: identifiers that do not join records.
    """

    def __init__(
        self, members: Sequence[Member], same: Mapping[Pair, float], rules: Rules, crowded: Collection[str] = ()
    ) -> None:
        self._members, self._same, self._rules = members, same, rules
        self._reasons: dict[Pair, str | None] = {}
        self._joined = {
            pair for key, bearers in bearers_of(members).items() if key not in crowded for pair in combinations(bearers, 2)
        }
        self._cluster = list(range(len(members)))
        self._content: dict[int, list[int]] = {at: [at] for at in range(len(members))}
        for a, b in self._edges():
            self._join(self._cluster[a], self._cluster[b])

    def clusters(self) -> list[list[int]]:
        """Return the positions of the records of each work, ascending, in the order of their first record."""
        return sorted(map(sorted, self._content.values()))

    def reason(self, ours: Sequence[int], theirs: Sequence[int]) -> str:
        """Return why two works were not joined."""
        for a in ours:
            for b in theirs:
                if found := self._unlike(min(a, b), max(a, b)):
                    return found
        return LIMIT

    def _edges(self) -> list[Pair]:
        """Return the pairs to join, the surest first: common identifier, agreeing fields, probability, position."""
        least = self._rules.min_probability
        likely = {pair for pair, probability in self._same.items() if probability >= least}
        return sorted(
            self._joined | likely,
            key=lambda pair: (pair not in self._joined, -self._agreement(*pair), -self._same.get(pair, 0.0), pair),
        )

    def _agreement(self, at: int, other: int) -> int:
        a, b = self._members[at].work, self._members[other].work
        agreeing = sum(
            -1 if x != y else 1 for name in _AGREEING if (x := getattr(a, name)) is not None
            and (y := getattr(b, name)) is not None
        )  # fmt: skip
        return agreeing + (2 if a.title and b.title and compact(a.title) == compact(b.title) else 0)

    def _join(self, one: int, other: int) -> None:
        if one == other:
            return
        ours, theirs = self._content[one], self._content[other]
        if len(ours) + len(theirs) > self._rules.max_records:
            return
        if any(self._unlike(min(a, b), max(a, b)) for a in ours for b in theirs):
            return
        ours += self._content.pop(other)
        for at in theirs:
            self._cluster[at] = one

    def _unlike(self, a: int, b: int) -> str | None:
        pair = a, b
        if pair not in self._reasons:
            self._reasons[pair] = self._compared(pair)
        return self._reasons[pair]

    def _compared(self, pair: Pair) -> str | None:
        a, b = (self._members[at].work for at in pair)
        joined, probability = pair in self._joined, self._same.get(pair)
        if not joined and probability is not None:
            return JUDGED if probability < 0.5 else None
        found = unlike(a, b, joined=joined or probability is not None, join_preprints=self._rules.join_preprints)
        return None if found == IDENTIFIERS and joined else found
