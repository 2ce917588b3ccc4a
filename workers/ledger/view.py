"""Events and view of the ledger. The view: its stores, the writes since the last commit, and the log of changes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol

from schemas import SCHEMA_VERSION, ManifestEvent, OutcomesEvent
from schemas.links import PropagationState
from workers.ledger.papers import KnownPaper, PaperCache
from workers.ledger.stores.change_log import Change
from workers.ledger.stores.outcome_store import PartitionStore, Table
from workers.stage import Output

#: Address of a row: (partition, table, key). ``requested`` exists only in memory: the last requested re-evaluation of a
#: reference, as JSON (minimum catalog offset, version of the paper, forbidden works, pinned work).
Row = tuple[int, Table | Literal["requested"], str]

#: Keys of the table ``progress``.
SWEEP: Final = "sweep"
#: The ``log_id`` of the log of changes with which the store was last used.
LOG: Final = "log"


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """Event of ``outcomes`` with its partition. ``event`` is None for a record of ``catalog``, which is only checked."""

    partition: int
    event: ManifestEvent | OutcomesEvent | None


class CatalogLog(Protocol):
    """Interface of workers.ledger.stores.change_log.ChangeLog for the rules of the ledger."""

    @property
    def start(self) -> int:
        """Return the first offset of the catalog topic whose changes are known."""

    @property
    def offset(self) -> int:
        """Return the first offset of the catalog topic that was not read."""

    @property
    def end(self) -> int:
        """Return the last known end of the catalog topic."""

    @property
    def log_id(self) -> bytes:
        """Return the id that distinguishes this log from the logs before and after it."""

    def begin(self, offset: int) -> None:
        """Forget everything and begin at ``offset``."""

    def changes(self, start: int, limit: int) -> Sequence[Change]:
        """Return at most ``limit`` changes in order of offset, from offset ``start`` on."""

    def changed_since(self, keys: Iterable[bytes], offset: int) -> int | None:
        """Return the highest offset of a change that concerns any of these keys; None if it is below ``offset``.

        If ``offset`` is below ``start``, the offset before ``start`` counts as such a change.
        """


class Cursor(NamedTuple):
    """Progress of change propagation in one partition (schemas.links.PropagationState).

    It is a row of ``manifests``, so every ledger that gets the partition continues from the same change.
    """

    offset: int = 0
    key: int = 0
    after: str = ""

    @classmethod
    def read(cls, value: bytes | None) -> Cursor:
        """Parse its row. Raises BadRecord."""
        if value is None:
            return cls()
        state = PropagationState.from_json(value)
        return cls(state.offset, state.key, state.after)

    def written(self) -> bytes:
        """Return its row."""
        return PropagationState(schema_version=SCHEMA_VERSION, **self._asdict()).to_json()

    @property
    def untouched(self) -> int:
        """Return the first offset whose change has not begun. A change in progress may already have passed a new outcome."""
        return self.offset + 1 if self.key or self.after else self.offset


@dataclass(frozen=True)
class LedgerView:
    """Stores as of the last commit, overlaid by the writes of this batch so far.

    ``requested``: the requested re-evaluations that are remembered. ``papers``: a cache that may outlive the view.
    ``stored``: the rows of papers that this view has read from the stores, which do not change while the view is used.
    """

    stores: Mapping[int, PartitionStore]
    catalog: CatalogLog
    written: Mapping[Hashable, bytes | None] = field(default_factory=dict)
    requested: Mapping[tuple[int, str], bytes] = field(default_factory=dict)
    papers: PaperCache = field(default_factory=PaperCache)
    stored: dict[Row, bytes | None] = field(default_factory=dict)

    def get(self, row: Row, output: Output) -> bytes | None:
        """Return the current value of a row: from ``output``, else from the batch so far, else from the store."""
        for writes in (output.writes, self.written):
            if row in writes:
                return writes[row]
        partition, table, key = row
        if table == "requested":
            return self.requested.get((partition, key))
        return self.stores[partition].get(table, key)

    def after(self, output: Output) -> LedgerView:
        """Return a view that includes the writes of ``output``."""
        written = {**self.written, **output.writes}
        return LedgerView(self.stores, self.catalog, written, self.requested, self.papers, self.stored)

    def paper(self, partition: int, citing: str, output: Output) -> KnownPaper | None:
        """Return the newest known version of a paper."""
        row: Row = (partition, "manifests", citing)
        if row in output.writes or row in self.written:
            data = self.get(row, output)
        else:
            if row not in self.stored:
                self.stored[row] = self.stores[partition].get("manifests", citing)
            data = self.stored[row]
        return None if data is None else self.papers.read(row, data)


def citing_of(reference: str) -> str:
    """Return the id of the citing paper, which is a prefix of the reference id."""
    return reference.partition("#")[0]


def by_partition(writes: Mapping[Row, bytes | None]) -> dict[int, list[tuple[Table, str, bytes | None]]]:
    """Group the rows that belong into stores by partition."""
    found: dict[int, list[tuple[Table, str, bytes | None]]] = {}
    for (partition, table, key), value in writes.items():
        if table != "requested":
            found.setdefault(partition, []).append((table, key, value))
    return found
