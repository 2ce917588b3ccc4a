"""Statistics of a citation graph, as paper 003 gives them of its own (section 5, Figures 2 and 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

from reflink.graph.rows import Row

_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class Distribution:
    """``counts``: how many items have a value, by value; the values are at least 1."""

    counts: Mapping[int, int]

    @classmethod
    def of(cls, values: Iterable[int]) -> Distribution:
        """Return the distribution of these values."""
        return cls(dict(sorted(Counter(values).items())))

    def at_least(self, value: int) -> int:
        """Return the number of items with this value or a higher one."""
        return sum(count for found, count in self.counts.items() if found >= value)

    def to_dict(self) -> dict[str, Any]:
        """Return number, sum, mean, standard deviation and maximum, and the items of value 1, from 2 and from 5 on."""
        n, total = sum(self.counts.values()), sum(value * count for value, count in self.counts.items())
        mean = total / n if n else 0.0
        variance = sum(count * (value - mean) ** 2 for value, count in self.counts.items()) / n if n else 0.0
        return {
            "n": n, "sum": total, "mean": round(mean, _DECIMALS), "sd": round(sqrt(variance), _DECIMALS),
            "max": max(self.counts, default=0), "one": self.counts.get(1, 0), "from_2": self.at_least(2),
            "from_5": self.at_least(5), "counts": {str(value): count for value, count in self.counts.items()},
        }  # fmt: skip


@dataclass(frozen=True)
class Statistics:
    """``citing``: papers that cite a work. ``contexts``: citation contexts of a linked reference, of those that have any.

    ``references``, ``linked``, ``papers``: numbers of references, of those with a link, and of papers with a link.
    ``methods``: linked references by the method of the link.
    """

    references: int
    linked: int
    papers: int
    methods: Mapping[str, int]
    citing: Distribution
    contexts: Distribution

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON data. ``contexts_of_work``: mean contexts times mean citing papers, as in paper 003."""
        citing, contexts = self.citing.to_dict(), self.contexts.to_dict()
        return {
            "references": self.references, "linked": self.linked, "papers": self.papers, "methods": dict(self.methods),
            "citing": citing, "contexts": contexts, "contexts_of_work": round(citing["mean"] * contexts["mean"], _DECIMALS),
        }  # fmt: skip


def statistics(rows: Iterable[Row], contexts: Mapping[str, int]) -> Statistics:
    """Return the statistics of links. ``rows``: one for each reference, those of a paper adjacent.

    ``contexts``: the number of citation contexts by reference. A paper counts once for each work that it cites.
    """
    references = linked = papers = 0
    methods, citing, found = Counter[str](), Counter[str](), Counter[int]()
    paper, cited = "", set[str]()
    for row in rows:
        references += 1
        if row.cited is None:
            continue
        linked += 1
        methods[row.method or "none"] += 1
        if row.citing != paper:
            paper, cited = row.citing, set()
            papers += 1
        if row.cited not in cited:
            cited.add(row.cited)
            citing[row.cited] += 1
        if number := contexts.get(row.reference):
            found[number] += 1
    shown = dict(sorted(methods.items()))
    return Statistics(
        references, linked, papers, shown, Distribution.of(citing.values()), Distribution(dict(sorted(found.items())))
    )
