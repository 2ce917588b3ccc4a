"""Determine the works of dirty records anew: the records of one article become one work.

1. The works of a component depend on its records alone, not on the order in which they arrived.
2. A work's row names its records. A component that gives up a work removes only its own records from the row, so a work moves
   from one component to another in whatever order they are settled.
3. A batch holds whole components, so a killed process repeats a component or has settled it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from rocksdict import WriteBatch

from reflink.catalog.filters import Filters
from reflink.merging import Conflict, Merged, Rules
from reflink.updating.components import component_of, works_of
from reflink.updating.encoded import id_of
from reflink.updating.layout import (
    ALONE,
    CHANGED,
    DIRTY,
    PARTIAL,
    RECORD,
    WORK,
    Published,
    Row,
    digest,
    join,
    ref_of,
    refs,
)
from reflink.updating.state import State

#: Number of dirty records per batch.
_BATCH: Final = 500


@dataclass
class Settled:
    """Numbers of one pass. ``filtered``: works that a filter keeps out of the catalog, by reason."""

    records: int = 0
    works: int = 0
    merged: int = 0
    filtered: Counter[str] = field(default_factory=Counter)
    conflicts: int = 0


def settle_dirty(
    state: State,
    rules: Rules,
    filters: Filters,
    on_conflict: Callable[[Conflict], object] = lambda _: None,
    progress: Callable[[int], object] = lambda _: None,
) -> Settled:
    """Settle all dirty records, and return the numbers. ``progress`` receives the number of records settled so far."""
    settled, done = Settled(), 0
    while chunk := _dirty(state):
        batch, seen = state.batch(), set[bytes]()
        writer = _Writer(state, batch)
        for ref in chunk:
            batch.delete(DIRTY + ref)
            if ref in seen:
                continue
            found = component_of(state, ref, rules)
            seen |= found.rows.keys()
            for row_ref in found.rows:
                batch.delete(DIRTY + row_ref)
            works, conflicts = works_of(found, rules)
            for conflict in conflicts:
                on_conflict(conflict)
            kept: list[Merged] = []
            for merged in works:
                reason = filters.reason(merged.work)
                if reason is None:
                    kept.append(merged)
                else:
                    settled.filtered[reason] += 1
            writer.write(found.rows, kept)
            settled.works += len(kept)
            settled.merged += sum(len(merged.members) > 1 for merged in kept)
            settled.conflicts += len(conflicts)
        writer.finish()
        state.write(batch)
        done += len(chunk)
        settled.records += len(seen)
        progress(done)
    return settled


def _dirty(state: State) -> list[bytes]:
    return [ref for ref, _ in islice(state.rows(DIRTY), _BATCH)]


class _Writer:
    """Writes the works of components to a batch; sees its own rows of works, which later components of the batch may share."""

    def __init__(self, state: State, batch: WriteBatch) -> None:
        self._state, self._batch = state, batch
        self._works: dict[bytes, Published | None] = {}

    def write(self, rows: dict[bytes, Row], works: Sequence[Merged]) -> None:
        """Replace the works of a component by ``works``."""
        of_record: dict[bytes, tuple[bytes, int]] = {}
        new: dict[bytes, Published] = {}
        for merged in works:
            members = frozenset(ref_of(member.source, member.key) for member in merged.members)
            (first, *others) = members
            named = {id_of(work): work.to_json() for work in merged.works()}
            alone = not others and list(named.values()) == [rows[first].json]
            for name, json in named.items():
                new[name] = Published(digest(json), members, b"" if alone else json)
            of_record.update(dict.fromkeys(members, (join(named), ALONE if alone else 0)))
        for name in {name for row in rows.values() for name in refs(row.published)} - new.keys():
            self._give_up(name, frozenset(rows))
        for name, published in new.items():
            before = self._work(name)
            if before is None or before.digest != published.digest:
                self._batch.put(CHANGED + name, b"")
            self._works[name] = published
        for ref, row in rows.items():
            names, flag = of_record.get(ref, (b"", 0))
            now = row._replace(published=names, flags=(row.flags & PARTIAL) | flag)
            if now != row:
                self._batch.put(RECORD + ref, now.to_bytes())

    def finish(self) -> None:
        """Write the rows of the works."""
        for name, published in self._works.items():
            if published is None:
                self._batch.delete(WORK + name)
            else:
                self._batch.put(WORK + name, published.to_bytes())

    def _work(self, name: bytes) -> Published | None:
        if name not in self._works:
            value = self._state.get(WORK + name)
            self._works[name] = None if value is None else Published.from_bytes(value)
        return self._works[name]

    def _give_up(self, name: bytes, members: frozenset[bytes]) -> None:
        """Remove the records from a work that is no longer theirs; a work without records is removed."""
        before = self._work(name)
        if before is None or before.members.isdisjoint(members):
            return
        left = before.members - members
        for ref in left:  # their work is no longer what they make
            self._batch.put(DIRTY + ref, b"")
        self._works[name] = before._replace(members=left) if left else None
        if not left:
            self._batch.put(CHANGED + name, b"")
