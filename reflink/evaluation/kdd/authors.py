"""Baselines: links by the recognised author names and year alone, the first level of the paper's matching.

The paper filters the works by the extracted authors and year, and by the years before if no work is left; a network then
chooses among those that are left. A baseline links where exactly one is left, and needs no network.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from reflink.blocking.locators import name_words
from reflink.entities import Reference, Work


@dataclass(frozen=True, slots=True)
class AuthorsAndYear:
    """``authors``: which authors of a reference the work must have. ``before``: how many years it may be older."""

    authors: Literal["first", "all"]
    before: int

    @property
    def name(self) -> str:
        """What the baseline compares, in words."""
        years = f" or up to {self.before} years before" if self.before else ""
        return f"{'first author' if self.authors == 'first' else 'all authors'} and year{years}, if one work has them"


#: All settings are reported, so that none is chosen with the test's own edges.
BASELINES: Final = (
    AuthorsAndYear("first", 0), AuthorsAndYear("first", 2), AuthorsAndYear("all", 0), AuthorsAndYear("all", 2),
)  # fmt: skip


class ByAuthors:
    """The works of a catalog by the words of their authors' names and by year."""

    def __init__(self, works: Iterable[Work]) -> None:
        self._first: dict[tuple[str, int], set[str]] = defaultdict(set)
        self._any: dict[tuple[str, int], set[str]] = defaultdict(set)
        for work in works:
            for year in {each for each in (work.year, work.online_year) if each is not None}:
                for at, name in enumerate(work.authors):
                    for word in name_words(name):
                        self._any[word, year].add(work.id)
                        if at == 0:
                            self._first[word, year].add(work.id)

    def link(self, reference: Reference, baseline: AuthorsAndYear) -> str | None:
        """Return the id of the only work that fits; None if none or several do, or the reference lacks authors or year."""
        fields = reference.inferred or reference
        names = [words for name in fields.last_names if (words := name_words(name))]
        if not names or fields.year is None:
            return None
        for year in range(fields.year, fields.year - baseline.before - 1, -1):
            if found := self._having(names, year, baseline):
                return next(iter(found)) if len(found) == 1 else None
        return None

    def _having(self, names: list[tuple[str, ...]], year: int, baseline: AuthorsAndYear) -> set[str]:
        if baseline.authors == "first":
            return set.intersection(*(self._first.get((word, year), set()) for word in names[0]))
        return set.intersection(*(self._any.get((word, year), set()) for words in names for word in words))
