"""What the ledger sees while it handles a batch or does a chore: its stores, what was written since, and the works by key."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol

import orjson

from reflink.entities import Work
from schemas import OverrideEvent
from schemas.links import LinkEvent, PaperState
from workers.ledger.store import PartitionStore, Table
from workers.ledger.worktable import Change
from workers.stage import Output

#: A row as it will be: (partition, table, key). ``asked`` is in memory alone: what was last asked of a reference, as JSON (the
#: catalog offset to be judged at, the paper's version, the works forbidden).
Row = tuple[int, Table | Literal["asked"], str]

#: Keys of the table ``progress``.
WOKEN: Final = "woken"
SWEEP: Final = "sweep"
#: Which table of works the store was last compared with.
WORKS: Final = "works"


class WorksByKey(Protocol):
    """What is asked of workers.ledger.worktable.WorkTable."""

    @property
    def offset(self) -> int:
        """The first offset of the catalog topic that is not in it yet."""

    @property
    def born(self) -> bytes:
        """What tells it from a table that was there before, or will be after it."""

    def get(self, work_id: str) -> Work | None:
        """The work with exactly this id."""

    def canonical(self, work_id: str) -> str:
        """The smallest id of the works that are one with it."""

    def alive(self, work_id: str) -> bool:
        """Whether it, or a work that is one with it, is there."""

    def changes(self, start: int, limit: int) -> Sequence[Change]:
        """At most so many changes, in order, from this offset on."""

    def changed_since(self, keys: Iterable[bytes], offset: int) -> int | None:
        """The highest offset, not below ``offset``, of a change that concerns any of the hashed keys."""


class Cursor(NamedTuple):
    """How far waking has come: changes below ``offset``, and of that one so many keys, and references up to ``after``."""

    offset: int = 0
    key: int = 0
    after: str = ""

    @classmethod
    def read(cls, value: bytes | None) -> Cursor:
        """From its row."""
        return cls() if value is None else cls(*orjson.loads(value))

    def written(self) -> bytes:
        """As its row."""
        return orjson.dumps(list(self))

    @property
    def untouched(self) -> int:
        """The first offset whose change is not begun with: what comes in now may be too late for one that is under way."""
        return self.offset + 1 if self.key or self.after else self.offset


@dataclass(frozen=True)
class LedgerView:
    """The stores as of the last commit, and over them what this batch has written so far.

    ``asked``: rows of what is remembered of references that were asked for.
    """

    stores: Mapping[int, PartitionStore]
    works: WorksByKey
    written: Mapping[Hashable, bytes | None] = field(default_factory=dict)
    asked: Mapping[tuple[int, str], bytes] = field(default_factory=dict)

    def get(self, row: Row, output: Output) -> bytes | None:
        """What is published, or will be with this batch: what was handled before it, and ``output``."""
        for writes in (output.writes, self.written):
            if row in writes:
                return writes[row]
        partition, table, key = row
        if table == "asked":
            return self.asked.get((partition, key))
        return self.stores[partition].get(table, key)

    def after(self, output: Output) -> LedgerView:
        """With the output's writes seen."""
        return LedgerView(self.stores, self.works, {**self.written, **output.writes}, self.asked)

    def link(self, partition: int, reference: str, output: Output) -> LinkEvent | None:
        """The current outcome of a reference."""
        data = self.get((partition, "links", reference), output)
        return None if data is None else LinkEvent.from_json(data)

    def state(self, partition: int, citing: str, output: Output) -> PaperState | None:
        """The newest version of a paper that is known."""
        data = self.get((partition, "manifests", citing), output)
        return None if data is None else PaperState.from_json(data)

    def override(self, partition: int, reference: str, output: Output) -> OverrideEvent | None:
        """A curator's word on the reference."""
        data = self.get((partition, "overrides", reference), output)
        return None if data is None else OverrideEvent.from_json(data)

    def asked_at(self, partition: int, reference: str, version: int, forbidden: Sequence[str], output: Output) -> int:
        """The catalog offset at which the very same was last asked of the reference; -1 when that is not known."""
        said = self.get((partition, "asked", reference), output)
        if said is None:
            return -1
        offset, *what = json.loads(said)  # versions may be of any size
        return int(offset) if what == [version, list(forbidden)] else -1

    def woken(self, partition: int) -> int:
        """The first catalog offset whose change has not been looked at, or not yet to its end, for this partition."""
        return self._cursor(partition).offset

    def untouched(self, partition: int) -> int:
        """The first catalog offset whose change waking has not begun with."""
        return self._cursor(partition).untouched

    def _cursor(self, partition: int) -> Cursor:
        return Cursor.read(self.stores[partition].get("progress", WOKEN))


def version_of(link: LinkEvent, state: PaperState | None) -> int:
    """The version of the paper that an outcome holds for: it may have been published for an older one and kept."""
    if state is None or state.paper_version <= link.paper_version:
        return link.paper_version
    kept = any(state.references[position] == link.reference.id for position in state.kept)
    return state.paper_version if kept else link.paper_version


def citing_of(reference: str) -> str:
    """The paper that a reference is of, by the reference's id."""
    return reference.partition("#")[0]


def by_partition(writes: Mapping[Row, bytes | None]) -> dict[int, list[tuple[Table, str, bytes | None]]]:
    """The rows of each partition's store."""
    found: dict[int, list[tuple[Table, str, bytes | None]]] = {}
    for (partition, table, key), value in writes.items():
        if table != "asked":
            found.setdefault(partition, []).append((table, key, value))
    return found
