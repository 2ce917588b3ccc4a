"""The works of a state, and its changes since the last publication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from reflink.updating.layout import CHANGED, IDENTIFIER, RECORD, TOO_MANY, WORK, Published, Row, ref_of, refs
from reflink.updating.state import State

#: Number of works that are looked up together.
_BATCH: Final = 1000


class Change(NamedTuple):
    """A changed work. ``json`` is None if the work was removed."""

    work_id: str
    json: bytes | None


def export(state: State) -> Iterator[bytes]:
    """Yield the JSON of every work: those of one record in order of the records, then the merged ones in order of their ids."""
    for _, value in state.rows(RECORD):
        row = Row.from_bytes(value)
        if row.alone:
            yield row.json
    for _, value in state.rows(WORK):
        work = Published.from_bytes(value)
        if work.json:
            yield work.json


def works(state: State, ids: Sequence[str]) -> list[bytes | None]:
    """Return the JSON of each work, None if there is none with the id."""
    rows = state.get_many([WORK + _row_id(work_id) for work_id in ids])
    found = [None if value is None else Published.from_bytes(value) for value in rows]
    alone = [next(iter(work.members)) for work in found if work is not None and not work.json]
    records = iter(state.get_many([RECORD + ref for ref in alone]))
    return [None if work is None else work.json or _record(next(records)) for work in found]


def lost(state: State) -> int:
    """Return the number of removed works in the changes whose identifier and record belong to no other work now."""
    gone = (change.work_id for change in pending(state) if change.json is None)
    number = 0
    while ids := list(islice(gone, _BATCH)):
        bearers = state.get_many([IDENTIFIER + _row_id(work_id) for work_id in ids])
        records = [_records(work_id, value) for work_id, value in zip(ids, bearers, strict=True)]
        every = sorted({ref for found in records for ref in found})
        rows = zip(every, state.get_many([RECORD + ref for ref in every]), strict=True)
        kept = {ref for ref, value in rows if value is not None and Row.from_bytes(value).published}
        number += sum(found.isdisjoint(kept) for found in records)
    return number


def _records(work_id: str, bearers: bytes | None) -> frozenset[bytes]:
    """Return the records with an identifier that was a work's id, and the record whose id in its source it was."""
    own = frozenset((ref_of(*work_id.split(":", 1)),) if ":" in work_id else ())
    return own if bearers in (None, TOO_MANY) else own | refs(bearers or b"")


def count(state: State) -> int:
    """Return the number of works."""
    return sum(1 for _ in state.rows(WORK))


def pending(state: State) -> Iterator[Change]:
    """Yield the changes that are not published, in order of the works' ids."""
    names = (key.decode(errors="surrogatepass") for key, _ in state.rows(CHANGED))
    while ids := list(islice(names, _BATCH)):
        yield from map(Change, ids, works(state, ids))


def published(state: State, changes: Iterable[Change]) -> None:
    """Mark changes as published; to be called after their publication is durable."""
    mark(state, (change.work_id for change in changes), changed=False)


def mark(state: State, ids: Iterable[str], *, changed: bool) -> None:
    """Mark works as changed, or as published."""
    batch = state.batch()
    for work_id in ids:
        if changed:
            batch.put(CHANGED + _row_id(work_id), b"")
        else:
            batch.delete(CHANGED + _row_id(work_id))
    state.write(batch)


def mark_all(state: State) -> int:
    """Mark every work as changed, and return their number."""
    names = (key.decode(errors="surrogatepass") for key, _ in state.rows(WORK))
    count = 0
    while ids := list(islice(names, _BATCH)):
        mark(state, ids, changed=True)
        count += len(ids)
    return count


def _row_id(work_id: str) -> bytes:
    return work_id.encode(errors="surrogatepass")


def _record(value: bytes | None) -> bytes | None:
    return None if value is None else Row.from_bytes(value).json
