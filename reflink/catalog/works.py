"""Works by id, by identifier and by place: a mapped base, and what was added, replaced or removed since in memory over it.

Works that share an identifier are one work; the smallest id of the connected component is canonical. It depends on the
works present alone, so every replica agrees whatever the order in which they came and went.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from reflink.catalog.hashtable import GrowingTable
from reflink.catalog.mapped import MappedWorks, keys_of
from reflink.entities import Work
from reflink.places import work_places


class Works:
    """Works by id, changeable, and their tables of identifiers and places. Memory grows with the changes, not with the base."""

    def __init__(self, base: MappedWorks | None = None) -> None:
        self._base = base
        self._hidden: set[int] = set()  # base rows that were replaced or removed
        self._touched: set[int] = set()  # base rows whose component the growth may have changed
        self._growth: dict[str, Work] = {}
        self._bearers: dict[str, set[str]] = {}  # key → ids of growth works
        self._placed = GrowingTable()  # key of place → ids of growth works
        self._components: dict[str, tuple[str, ...]] = {}  # memo: member → its component, smallest first

    def __len__(self) -> int:
        return (len(self._base) if self._base else 0) - len(self._hidden) + len(self._growth)

    def __contains__(self, work_id: object) -> bool:
        return isinstance(work_id, str) and (work_id in self._growth or self._row(work_id) is not None)

    def __iter__(self) -> Iterator[Work]:
        """All works: the base in its order, then the growth in order of arrival."""
        if self._base is not None:
            for row in range(len(self._base)):
                if row not in self._hidden:
                    yield self._base.work(row)
        yield from self._growth.values()

    def get(self, work_id: str) -> Work | None:
        """The work with exactly this id."""
        if (work := self._growth.get(work_id)) is not None:
            return work
        if self._base is None or (row := self._row(work_id)) is None:
            return None
        return self._base.work(row)

    def bearers(self, key: str) -> set[str]:
        """Ids of the works whose id or one of whose identifiers (``kind:value``) is ``key``."""
        found = set(self._bearers.get(key, ()))
        if self._base is not None:
            found |= {work.id for row, work in self._base.bearers(key).items() if row not in self._hidden}
        return found

    @property
    def has_places(self) -> bool:
        """Whether ``at_places`` answers: not over a base that has no table of places, lest the growth count as all works."""
        return self._base is None or self._base.places is not None

    def at_places(self, keys: Sequence[str], most: int) -> dict[str, str]:
        """The works that have one of ``keys`` among their ``work_places``: id → the first such key.

        A key that more than ``most`` works share is passed over. They are counted by its hash, unread: a key of many works
        costs no more than one of few, and replicas agree.
        """
        kept: list[str] = []
        rows: dict[int, None] = {}
        grown: dict[str, None] = {}
        for key in keys if self.has_places else ():
            growth, mapped = self._placed.candidates(key), self._rows_placed(key, most + 1)
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
        """At most so many base rows with the hash of this key of place."""
        if self._base is None or self._base.places is None:
            return []
        rows = self._base.places.rows_of(key)
        return list(islice((row for row in rows if row not in self._hidden) if self._hidden else rows, limit))

    def canonical(self, work_id: str) -> str:
        """The smallest id among the works that are one with it; ``work_id`` itself when no work has or bears it."""
        if (component := self._components.get(work_id)) is not None:
            return component[0]
        if work_id not in self._growth and self._base is not None:
            row = self._row(work_id)
            if row is not None and row not in self._touched:
                canonical = int(self._base.canonical[row])
                return work_id if canonical == row else self._base.work(canonical).id
        members = self._component(work_id)
        return members[0] if members else work_id

    def members(self, work_id: str) -> tuple[str, ...]:
        """Ids of all works that are one with it, ascending, its own among them; empty when no work has or bears it."""
        return self._components.get(work_id) or self._component(work_id)

    def put(self, work: Work) -> bool:
        """Adds the work or replaces the one with its id; False, and nothing done, when it is there unchanged."""
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
        """Removes the work; False when there is none with this id."""
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
        """Before works bearing ``keys`` change: their components, mapped or memoised, no longer hold."""
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
        """Ids of all works connected to those bearing ``start``, ascending; memoised for each of them."""
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
