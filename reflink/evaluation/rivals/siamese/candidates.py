"""The candidates of a citation: works that share an extracted author, of its year, else of a few years before.

The paper compares a citation with "papers of the same set of authors"; whether one common author suffices, or only the works
with the most common authors count, is a setting that the validation chooses (`Share`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Final, Literal

from reflink.entities import Work
from reflink.folding import fold

#: ``any``: works with at least one of the authors. ``most``: of these, the works that share the most of the authors.
Share = Literal["any", "most"]
SHARES: Final[tuple[Share, ...]] = ("any", "most")
#: Years before that of the citation where works are looked for if its own year has none.
YEARS_BEFORE: Final = 3


class AuthorIndex:
    """Works by the folded last names of their authors."""

    def __init__(self, works: Iterable[Work]) -> None:
        self._years: dict[str, int | None] = {}
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for work in works:
            if work.id in self._years:
                continue
            self._years[work.id] = work.year
            for name in {fold(author) for author in work.authors} - {""}:
                self._by_name[name].append(work.id)

    def candidates(
        self, names: Collection[str], year: int | None, share: Share, absent: Collection[str] = frozenset()
    ) -> list[str]:
        """Return the ids of the candidates, ascending.

        ``names``: folded last names of the citation. Without ``year``, works of any year are candidates. ``absent``: ids of
        works that are no candidates.
        """
        common = Counter(id_ for name in names for id_ in self._by_name.get(name, ()) if id_ not in absent)
        if year is None:
            return _best(common, share)
        years = self._years
        for first, last in ((year, year), (year - YEARS_BEFORE, year - 1)):
            within = {id_: count for id_, count in common.items() if first <= (years[id_] or 0) <= last}
            if within:
                return _best(within, share)
        return []


def _best(common: dict[str, int], share: Share) -> list[str]:
    least = max(common.values(), default=0) if share == "most" else 1
    return sorted(id_ for id_, count in common.items() if count >= least)
