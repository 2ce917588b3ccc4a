"""Determine the works of dirty records anew: the records of one article become one work.

1. The works of a connected set of records depend on these records alone, not on the order in which they arrived.
2. A work's row names its records. A set that gives up a work removes only its own records from the row, so a work moves from
   one set to another in whatever order the sets are settled.
3. A batch holds whole sets, so a killed process repeats a set or has settled it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rocksdict import WriteBatch

from reflink.catalog.filters import Filters
from reflink.entities import Work
from reflink.merging import Conflict, Member, Merged, Rules, settle
from reflink.updating.encoded import id_of, identifiers
from reflink.updating.layout import (
    ALONE,
    CHANGED,
    DIRTY,
    IDENTIFIER,
    PARTIAL,
    RECORD,
    TOO_MANY,
    WORK,
    Published,
    Row,
    digest,
    join,
    ref_of,
    refs,
    source_of,
)
from reflink.updating.matching import pairs_of
from reflink.updating.state import State

#: Number of dirty records per batch.
_BATCH: Final = 500
#: Maximum number of records in a set. A larger one is cut at this number: identifiers chain unlike records.
MAX_RECORDS: Final = 256


@dataclass
class Settled:
    """Numbers of one pass. ``filtered``: works that a filter keeps out of the catalog, by reason."""

    records: int = 0
    works: int = 0
    merged: int = 0
    filtered: Counter[str] = field(default_factory=Counter)
    conflicts: int = 0


@dataclass(frozen=True, slots=True)
class _Set:
    """A connected set of records. ``crowded``: identifiers that too many records have. ``pairs``: probabilities of pairs."""

    rows: dict[bytes, Row]
    crowded: frozenset[str]
    pairs: dict[tuple[bytes, bytes], float]


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
            found = _connected(state, ref, rules)
            seen |= found.rows.keys()
            for row_ref in found.rows:
                batch.delete(DIRTY + row_ref)
            works, conflicts = _works(found, rules)
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
    chunk: list[bytes] = []
    for ref, _ in state.rows(DIRTY):
        chunk.append(ref)
        if len(chunk) == _BATCH:
            break
    return chunk


def _connected(state: State, start: bytes, rules: Rules) -> _Set:
    """Return the records connected to ``start`` by identifiers, and by pairs that are probably one article."""
    rows: dict[bytes, Row] = {}
    waiting, keys, crowded = [start], set[bytes](), set[str]()
    pairs: dict[tuple[bytes, bytes], float] = {}
    while waiting:
        new = set[bytes]()
        for ref, value in zip(waiting, state.get_many([RECORD + ref for ref in waiting]), strict=True):
            if value is None:
                continue
            rows[ref] = row = Row.from_bytes(value)
            if row.json:
                new.update(identifiers(Work.from_json(row.json)))
        new -= keys
        keys |= new
        ordered, found = sorted(new), set[bytes]()
        for key, value in zip(ordered, state.get_many([IDENTIFIER + key for key in ordered]), strict=True):
            if value == TOO_MANY:
                crowded.add(key.decode(errors="surrogatepass"))
            else:
                found |= refs(value or b"")
        if rules.compare:
            for ref, others in zip(waiting, pairs_of(state, waiting), strict=True):
                pairs |= {(ref, other): probability for other, probability in others.items()}
                found |= {other for other, probability in others.items() if probability >= rules.min_probability}
        waiting = sorted(found - rows.keys())[: max(0, MAX_RECORDS - len(rows))]
    return _Set(rows, frozenset(crowded), pairs)


def _works(found: _Set, rules: Rules) -> tuple[list[Merged], Sequence[Conflict]]:
    """Return the works of a set of records."""
    members, place = list[Member](), dict[bytes, int]()
    for ref in sorted(found.rows):
        row = found.rows[ref]
        if row.json:
            source, key = source_of(ref)
            members.append(Member(source, key, Work.from_json(row.json), row.partial))
            place[ref] = len(place)
    if not members:
        return [], ()
    same = [(place[a], place[b], probability) for (a, b), probability in found.pairs.items() if a in place and b in place]
    return settle(members, same, rules, found.crowded)


class _Writer:
    """Writes the works of sets to a batch; sees its own rows of works, which later sets of the batch may share."""

    def __init__(self, state: State, batch: WriteBatch) -> None:
        self._state, self._batch = state, batch
        self._works: dict[bytes, Published | None] = {}

    def write(self, rows: dict[bytes, Row], works: Sequence[Merged]) -> None:
        """Replace the works of a set of records by ``works``."""
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
        self._works[name] = before._replace(members=left) if left else None
        if not left:
            self._batch.put(CHANGED + name, b"")
