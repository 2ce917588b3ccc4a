"""Apply source records to the state.

1. A record replaces the stored one if its version is greater. Of equal versions in one file the later one counts, in two files
   that of the file with the greater number, so the result does not depend on the order in which files are read. A record that
   an edition lacked, and a later edition has again, counts with any version.
2. A new record that shares no identifier with another record is published at once as it is. Every other change marks the
   record, and the records that share an identifier with it before or after the change, as dirty, for `settling`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rocksdict import WriteBatch

from reflink.entities import Work
from reflink.updating.encoded import Encoded, identifiers
from reflink.updating.layout import (
    ALONE,
    CHANGED,
    DIRTY,
    IDENTIFIER,
    LAST_ORIGIN,
    MAX_BEARERS,
    PARTIAL,
    RECORD,
    TOO_MANY,
    WORK,
    Published,
    Row,
    digest,
    join,
    refs,
)
from reflink.updating.state import State


@dataclass
class Counts:
    """Numbers of records by their effect on the state."""

    added: int = 0
    changed: int = 0
    withdrawn: int = 0
    unchanged: int = 0
    older: int = 0

    def add(self, other: Counts) -> None:
        """Add the numbers of ``other``."""
        for name, number in vars(other).items():
            setattr(self, name, getattr(self, name) + number)


@dataclass
class _Index:
    """The refs of the records with each identifier of a batch."""

    refs: dict[bytes, set[bytes] | None] = field(default_factory=dict)
    changed: set[bytes] = field(default_factory=set)

    def others(self, key: bytes, ref: bytes) -> set[bytes]:
        """Return the other records with this identifier."""
        return (self.refs[key] or set()) - {ref}

    def add(self, key: bytes, ref: bytes) -> None:
        """Add a record with this identifier, unless too many have it."""
        found = self.refs[key]
        if found is None or ref in found:
            return
        found.add(ref)
        self.changed.add(key)
        if len(found) > MAX_BEARERS:
            self.refs[key] = None

    def remove(self, key: bytes, ref: bytes) -> None:
        """Remove a record that no longer has this identifier."""
        found = self.refs[key]
        if found is not None and ref in found:
            found.discard(ref)
            self.changed.add(key)

    def write(self, batch: WriteBatch) -> None:
        """Write the changed identifiers."""
        for key in self.changed:
            found = self.refs[key]
            if found is None:
                batch.put(IDENTIFIER + key, TOO_MANY)
            elif found:
                batch.put(IDENTIFIER + key, join(found))
            else:
                batch.delete(IDENTIFIER + key)


def apply(state: State, records: Iterable[Encoded], edition: int, origin: int, *, direct: bool) -> Counts:
    """Write a batch of records and return the numbers of their effects.

    ``edition``, ``origin``: of the file. ``direct``: new records without relation to others are published without settling;
    False if the records of one article are also sought without shared identifiers.
    """
    newest = _newest(records)
    rows = [
        None if value is None else Row.from_bytes(value) for value in state.get_many([RECORD + each.ref for each in newest])
    ]
    kept = [row is not None and not _differs(row, each, edition, origin) for row, each in zip(rows, newest, strict=True)]
    before = [
        () if keep or row is None or not row.json else identifiers(Work.from_json(row.json))
        for row, keep in zip(rows, kept, strict=True)
    ]
    index = _read(state, {key for each, old in zip(newest, before, strict=True) for key in (*each.identifiers, *old)})
    counts, batch, dirty = Counts(), state.batch(), set[bytes]()
    fresh: dict[bytes, Encoded] = {}
    for each, row, old, keep in zip(newest, rows, before, kept, strict=True):
        if row is not None and keep:
            counts.older += each.version < row.version
            counts.unchanged += each.version >= row.version
            seen = row._replace(edition=max(edition, row.edition))
            if _same(row, each) and (each.version, origin) > (row.version, row.origin):
                seen = seen._replace(version=each.version, origin=origin)
            if seen != row:
                batch.put(RECORD + each.ref, seen.to_bytes())
            continue
        counts.withdrawn += not each.json
        counts.added += row is None and bool(each.json)
        counts.changed += row is not None and bool(each.json)
        near = set[bytes]()
        for key in old:
            near |= index.others(key, each.ref)
            if key not in each.identifiers:
                index.remove(key, each.ref)
        for key in each.identifiers:
            near |= index.others(key, each.ref)
            index.add(key, each.ref)
        dirty |= near
        crowded = any(index.refs[key] is None for key in each.identifiers)
        if direct and row is None and each.plain and not near and not crowded:
            fresh[each.ref] = each
            continue
        if row is not None or each.json:
            dirty.add(each.ref)
        flags = PARTIAL if each.partial else 0
        published = b"" if row is None else row.published
        batch.put(RECORD + each.ref, Row(flags, each.version, edition, origin, published, each.json).to_bytes())
    for each in fresh.values():
        if each.ref in dirty:
            batch.put(RECORD + each.ref, Row(0, each.version, edition, origin, b"", each.json).to_bytes())
        else:
            _publish(each, edition, origin, batch)
    for ref in dirty:
        batch.put(DIRTY + ref, b"")
    index.write(batch)
    state.write(batch)
    return counts


def _newest(records: Iterable[Encoded]) -> Sequence[Encoded]:
    """Return the newest of the records with the same ref, in order of the refs' first occurrence."""
    newest: dict[bytes, Encoded] = {}
    for each in records:
        known = newest.get(each.ref)
        if known is None or each.version >= known.version:
            newest[each.ref] = each
    return list(newest.values())


def _differs(row: Row, record: Encoded, edition: int, origin: int) -> bool:
    """Whether the record replaces the stored one by another."""
    came_back = row.origin == LAST_ORIGIN and edition > row.edition
    return (came_back or (record.version, origin) >= (row.version, row.origin)) and not _same(row, record)


def _same(row: Row, record: Encoded) -> bool:
    return record.json == row.json and record.partial == row.partial


def _read(state: State, keys: set[bytes]) -> _Index:
    index, ordered = _Index(), list(keys)
    for key, value in zip(ordered, state.get_many([IDENTIFIER + key for key in ordered]), strict=True):
        index.refs[key] = None if value == TOO_MANY else set(refs(value or b""))
    return index


def _publish(record: Encoded, edition: int, origin: int, batch: WriteBatch) -> None:
    """Write a record that is the only one of its work."""
    batch.put(RECORD + record.ref, Row(ALONE, record.version, edition, origin, record.work_id, record.json).to_bytes())
    batch.put(WORK + record.work_id, Published(digest(record.json), frozenset((record.ref,)), b"").to_bytes())
    batch.put(CHANGED + record.work_id, b"")
