"""A work table in memory, written for plainness: what ``workers.ledger.stores.work_table.WorkTable`` must answer."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from reflink.blocking.keys import hashed, work_key, work_keys
from reflink.catalog.mapped import keys_of
from reflink.entities import Work
from workers.ledger.stores.work_table import Change


class MemoryWorkTable:
    """Same interface as WorkTable but for its opening. After each record, every component is found anew from all works."""

    def __init__(self) -> None:
        self.offset = 0
        self.table_id = secrets.token_bytes(8)
        self.works: dict[str, Work] = {}
        self._canonical: dict[str, str] = {}
        self._changes: list[Change] = []
        self._last: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.works)

    def apply(self, records: Sequence[tuple[int, int, Work | str]], next_offset: int) -> None:
        for offset, arrived, what in records:
            if offset >= self.offset:
                self._apply(offset, arrived, what)
        self.offset = max(self.offset, next_offset)

    def get(self, work_id: str) -> Work | None:
        return self.works.get(work_id)

    def canonical(self, work_id: str) -> str:
        return self._canonical.get(work_id, work_id)

    def alive(self, work_id: str) -> bool:
        return work_id in self._canonical

    def changes(self, start: int, limit: int) -> list[Change]:
        return [change for change in self._changes if change.offset >= start][:limit]

    def changed_since(self, keys: Iterable[bytes], offset: int) -> int | None:
        found = [last for key in keys if (last := self._last.get(key, -1)) >= offset]
        return max(found, default=None)

    def trim(self, before: int) -> None:
        self._changes = [change for change in self._changes if change.offset >= before]

    def close(self) -> None:
        pass

    def _apply(self, offset: int, arrived: int, what: Work | str) -> None:
        work_id = what if isinstance(what, str) else what.id
        before, old = self.works.get(work_id), self._canonical
        if before == (None if isinstance(what, str) else what):
            return
        if isinstance(what, str):
            del self.works[work_id]
        else:
            self.works[work_id] = what
        new = self._canonical = canonical_ids(self.works)
        others = {node for node in old | new if old.get(node, node) != new.get(node, node)} - {work_id}
        concerned = [*(work_keys(what) if isinstance(what, Work) else ()), work_key(work_id), *map(work_key, sorted(others))]
        gone = tuple(sorted(old.keys() - new.keys()))
        change = Change(offset, arrived, work_id, tuple(dict.fromkeys(map(hashed, concerned))), gone)
        self._changes.append(change)
        self._last.update(dict.fromkeys(change.keys, offset))


def canonical_ids(works: dict[str, Work]) -> dict[str, str]:
    """Every id and identifier of the works → the smallest id of the works that are one with it."""
    found: dict[str, str] = {}
    for work_id in sorted(works):
        waiting = {work_id} - found.keys()
        while waiting:
            found |= dict.fromkeys(waiting, work_id)
            borne = {key for work in works.values() if waiting & set(keys_of(work)) for key in keys_of(work)}
            waiting = borne - found.keys()
    return found
