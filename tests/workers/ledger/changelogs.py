"""Logs of changes in memory: what ``workers.ledger.stores.change_log.ChangeLog`` must answer, and one that knows all works."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from reflink.blocking.keys import hashed, work_key
from reflink.catalog.mapped import keys_of
from reflink.entities import Work
from workers.ledger.stores.change_log import Change


class MemoryChangeLog:
    """Same interface as ChangeLog but for its opening; written for plainness."""

    def __init__(self) -> None:
        self.log_id = secrets.token_bytes(8)
        self.end = 0
        self.begin(0)

    def begin(self, offset: int) -> None:
        self._begun = self.start = self.offset = offset
        self.end = max(self.end, offset)
        #: Works read since the beginning; None: removed.
        self.works: dict[str, Work | None] = {}
        self._changes: list[Change] = []

    def apply(self, records: Sequence[tuple[int, int, Work | str]], next_offset: int) -> None:
        for offset, arrived, what in records:
            if offset >= self.offset:
                self._apply(offset, arrived, what)
        self.offset = max(self.offset, next_offset)
        self.end = max(self.end, self.offset)

    def trim(self, before: int, limit: int = 2000) -> None:
        if (before := min(before, self.offset)) > self.start:
            self._changes = [change for change in self._changes if change.offset >= before]
            self.start = before

    def changes(self, start: int, limit: int) -> list[Change]:
        return [change for change in self._changes if change.offset >= start][:limit]

    def changed_since(self, keys: Iterable[bytes], offset: int) -> int | None:
        wanted = set(keys)
        found = [change.offset for change in self._changes if change.offset >= offset and not wanted.isdisjoint(change.keys)]
        return max([*found, self.start - 1] if offset < self.start else found, default=None)

    def close(self) -> None:
        pass

    def _apply(self, offset: int, arrived: int, what: Work | str) -> None:
        work_id, work = (what, None) if isinstance(what, str) else (what.id, what)
        unknown = work_id not in self.works and (work is not None or self._begun > 0)
        if unknown or self.works.get(work_id) != work:
            self._add(Change.of(offset, arrived, what))
        self.works[work_id] = work

    def _add(self, change: Change) -> None:
        self._changes.append(change)


class WholeLog(MemoryChangeLog):
    """A log that keeps all works and forgets nothing: a change also concerns every node whose canonical id it changes.

    It is the table of works that ledgers had before they kept only a log.
    """

    def trim(self, before: int, limit: int = 2000) -> None:
        pass

    def _apply(self, offset: int, arrived: int, what: Work | str) -> None:
        before = canonical_ids(self.works)
        super()._apply(offset, arrived, what)
        after = canonical_ids(self.works)
        if self._changes and (change := self._changes[-1]).offset == offset:
            moved = sorted(node for node in before | after if before.get(node, node) != after.get(node, node))
            keys = tuple(dict.fromkeys((*change.keys, *(hashed(work_key(node)) for node in moved))))
            self._changes[-1] = Change(offset, arrived, change.work, keys, change.row)


def canonical_ids(works: dict[str, Work | None]) -> dict[str, str]:
    """Every id and identifier of the works → the smallest id of the works that are one with it."""
    present = {work_id: work for work_id, work in works.items() if work is not None}
    found: dict[str, str] = {}
    for work_id in sorted(present):
        waiting = {work_id} - found.keys()
        while waiting:
            found |= dict.fromkeys(waiting, work_id)
            borne = {key for work in present.values() if waiting & set(keys_of(work)) for key in keys_of(work)}
            waiting = borne - found.keys()
    return found
