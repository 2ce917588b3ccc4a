"""The part of a catalog that a batch of references needs, from the rows that Spark joined.

It answers the questions of `reflink.linking` as the whole catalog would, because the joins count all works: a catalog of the
batch's works alone would count too few works with a locator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from reflink.entities import Ids, Reference, Work
from reflink.journals.table import Journals


class Found(NamedTuple):
    """A row of `statements.FOUND`, without the reference."""

    key: str | None
    id: str | None
    canonical: str
    by_year: int | None
    record: bytes | None


class Joined(NamedTuple):
    """A reference with the rows that the joins found for it."""

    reference: Reference
    found: Sequence[Found]


class JoinedCatalog:
    """The catalog of a batch: candidates by identifier and locator, without indexes of vectors and texts."""

    vectors: Final = None
    trigrams: Final = None

    def __init__(self, batch: Iterable[Joined], journals: Journals | None = None) -> None:
        self.journals = journals
        self._records: dict[str, bytes] = {}
        self._works: dict[str, Work] = {}
        self._named: dict[str, str] = {}  # key or id of a work → canonical id
        self._places: dict[str, tuple[str, ...]] = {}
        for reference, rows in batch:
            placed = []
            for found in rows:
                if found.key is not None:
                    self._named[found.key] = found.canonical
                elif found.id is not None and found.record is not None:
                    self._named[found.id] = found.canonical
                    self._records[found.id] = found.record
                    if found.by_year is not None:
                        placed.append((found.by_year, found.id))
            self._places[reference.id] = tuple(work_id for _, work_id in sorted(placed))

    def canonical(self, work_id: str) -> str:
        """Return the canonical id of a candidate or of a citing paper; ``work_id`` itself if no work has it."""
        return self._named.get(work_id, work_id)

    def get(self, work_id: str) -> Work | None:
        """Return the candidate with this id, or None."""
        if (work := self._works.get(work_id)) is None and (record := self._records.get(work_id)) is not None:
            work = self._works[work_id] = Work.from_json(record)
        return work

    def lookup(self, ids: Ids) -> tuple[str, ...]:
        """Return the canonical ids of the works with any of the identifiers, ascending."""
        keys = ids.keys()
        return tuple(sorted({self._named[key] for key in keys if key in self._named}))

    def places(self, reference: Reference) -> tuple[str, ...]:
        """Return the ids of the works with the reference's locator: first those with its first author, then others."""
        return self._places[reference.id]
