"""Works by id, identifier and locator: a mapped base with later additions, replacements and removals in memory.

1. Works that share an identifier, directly or through other works, form a component. Its smallest id is the canonical id.
2. The canonical id depends only on the current works, so all replicas agree, whatever the order of the changes.
3. Memory grows with the changes (``growth``), not with the base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from reflink.blocking.locators import work_places
from reflink.catalog.mapped import MappedWorks, keys_of
from reflink.entities import Work
from reflink.storage.hashtable import GrowingTable


class Works:
    """A mutable collection of works with tables of their identifiers and locators."""

    def __init__(self, base: MappedWorks | None = None) -> None:
        self._base = base
        self._hidden: set[int] = set()  # base rows that were replaced or removed
        self._touched: set[int] = set()  # base rows whose component a change may have altered
        self._growth: dict[str, Work] = {}
        self._bearers: dict[str, set[str]] = {}  # key → ids of works in growth
        self._placed = GrowingTable()  # locator key → ids of works in growth
        self._components: dict[str, tuple[str, ...]] = {}  # cache: member → its component, ascending

    def __len__(self) -> int:
        return (len(self._base) if self._base else 0) - len(self._hidden) + len(self._growth)

    def __contains__(self, work_id: object) -> bool:
        return isinstance(work_id, str) and (work_id in self._growth or self._row(work_id) is not None)

    def __iter__(self) -> Iterator[Work]:
        """Yield all works: the base in its order, then the growth in order of arrival."""
        if self._base is not None:
            for row in range(len(self._base)):
                if row not in self._hidden:
                    yield self._base.work(row)
        yield from self._growth.values()

    def get(self, work_id: str) -> Work | None:
        """Return the work with exactly this id, or None."""
        if (work := self._growth.get(work_id)) is not None:
            return work
        if self._base is None or (row := self._row(work_id)) is None:
            return None
        return self._base.work(row)

    def bearers(self, key: str) -> set[str]:
        """Return the ids of the works that have ``key`` as id or identifier (``kind:value``)."""
        found = set(self._bearers.get(key, ()))
        if self._base is not None:
            found |= {work.id for row, work in self._base.bearers(key).items() if row not in self._hidden}
        return found

    @property
    def unchanged(self) -> MappedWorks | None:
        """The base if it holds exactly these works."""
        return None if self._growth or self._hidden else self._base

    def at_places(self, keys: Sequence[str], most: int) -> dict[str, str]:
        """Return the works that have one of ``keys`` among their ``work_places``: id → the first such key.

        Keys that more than ``most`` works share are ignored. Works are counted by the hash of the key without reading them, so
        the cost does not depend on their number, and replicas agree.
        """
        kept: list[str] = []
        rows: dict[int, None] = {}
        grown: dict[str, None] = {}
        for key in keys:
            growth, mapped = self._placed.candidates(key) if self._growth else (), self._rows_placed(key, most + 1)
            if len(growth) + len(mapped) <= most:
                kept.append(key)
                rows.update(dict.fromkeys(mapped))
                grown.update(dict.fromkeys(growth))
        works = [self._growth[work_id] for work_id in grown]
        if self._base is not None:
            works += map(self._base.work, rows)
        found = {}
        for work in works:
            borne = work_places(work)
            first = next((key for key in kept if key in borne), None)
            if first is not None:
                found[work.id] = first
        return found

    def _rows_placed(self, key: str, limit: int) -> list[int]:
        """Return at most ``limit`` base rows with the hash of this locator key."""
        if self._base is None:
            return []
        rows = self._base.places.rows_of(key)
        return list(islice((row for row in rows if row not in self._hidden) if self._hidden else rows, limit))

    def canonical(self, work_id: str) -> str:
        """Return the canonical id of ``work_id``; ``work_id`` itself if no work has it as id or identifier."""
        if (component := self._components.get(work_id)) is not None:
            return component[0]
        if work_id not in self._growth and self._base is not None:
            row = self._row(work_id)
            if row is not None and row not in self._touched:
                canonical = self._base.canonical(row)
                return work_id if canonical == row else self._base.work(canonical).id
        members = self._component(work_id)
        return members[0] if members else work_id

    def members(self, work_id: str) -> tuple[str, ...]:
        """Return the ids of the component of ``work_id``, ascending; empty if no work has ``work_id`` as id or identifier."""
        return self._components.get(work_id) or self._component(work_id)

    def nodes(self, work_id: str) -> set[str]:
        """Return the ids and identifiers of all works in the component of ``work_id``; empty if no work has ``work_id``."""
        found: set[str] = set()
        for member in self.members(work_id):
            work = self.get(member)
            found.update(() if work is None else keys_of(work))
        return found

    def put(self, work: Work) -> bool:
        """Add the work or replace the one with its id; return False if the work is already present unchanged."""
        before = self.get(work.id)
        if before == work:
            return False
        keys = keys_of(work)
        self._touch(keys if before is None else keys + keys_of(before))
        self._forget(before)
        self._growth[work.id] = work
        for key in keys:
            self._bearers.setdefault(key, set()).add(work.id)
        for key in work_places(work):
            self._placed.add(key, work.id)
        return True

    def delete(self, work_id: str) -> bool:
        """Remove the work; return False if there is none with this id."""
        before = self.get(work_id)
        if before is None:
            return False
        self._touch(keys_of(before))
        self._forget(before)
        return True

    def _row(self, work_id: str) -> int | None:
        row = None if self._base is None else self._base.find(work_id)
        return None if row in self._hidden else row

    def _forget(self, work: Work | None) -> None:
        if work is None:
            return
        if self._growth.pop(work.id, None) is None:
            row = self._row(work.id)
            assert row is not None
            self._hidden.add(row)
            return
        for key in keys_of(work):
            self._bearers[key].discard(work.id)
            if not self._bearers[key]:
                del self._bearers[key]
        for key in work_places(work):
            self._placed.discard(key, work.id)

    def _touch(self, keys: tuple[str, ...]) -> None:
        """Invalidate the mapped and cached components of the works with ``keys``; to be called before these works change."""
        for key in keys:
            for work_id in self._bearers.get(key, ()):
                self._drop(work_id)
            if self._base is None:
                continue
            for row, work in self._base.bearers(key).items():
                if row not in self._touched:
                    self._touched |= self._base.component(row)
                self._drop(work.id)

    def _drop(self, work_id: str) -> None:
        for member in self._components.get(work_id, ()):
            self._components.pop(member, None)

    def _component(self, start: str) -> tuple[str, ...]:
        """Return and cache the ids of all works connected to the works with key ``start``, ascending."""
        found = self.bearers(start)
        waiting = list(found)
        while waiting:
            work = self.get(waiting.pop())
            assert work is not None
            for key in keys_of(work):
                new = self.bearers(key) - found
                found |= new
                waiting += new
        members = tuple(sorted(found))
        self._components.update(dict.fromkeys(members, members))
        return members
