"""Table of works: which work an id names, and which changes of the catalog concern a reference that was decided earlier.

It has the catalog's works by id, a log of their changes, and the offset of the last change that concerns each blocking key. It
is a RocksDB (rocksdb.py) in the state folder, one per ledger process, and a cache of the topic ``catalog``.

Invariants:
1. All rows describe the catalog as of the same offset, because rows and offset are written in one batch.
2. The log has one entry for each record that changed a work, in order of offset. A record that changes nothing has none.
3. Works that share an identifier, directly or through others, are one work with one canonical id (connected_components.py).

Cost: a lookup reads one row, and a canonical id the rows of one component; a record costs a few rows per identifier and
blocking key of its work. The table grows with the catalog on disk, not in memory. The log is never truncated.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import orjson
from rocksdict import BlockBasedOptions, Cache, DBCompressionType, Options, WriteBatch

from reflink.blocking.keys import RULES, hashed, work_key, work_keys
from reflink.catalog.mapped import keys_of
from reflink.entities import ID_KINDS, Work
from workers.ledger.stores.connected_components import Components
from workers.ledger.stores.rocksdb import LOCK_S, Rocks

#: Format of the rows below and of the blocking keys in them.
FORMAT: Final = RULES
#: First byte of the keys of each table. workers/ledger/stores/rocksdb.py uses other bytes for its own rows.
_WORK: Final = b"a"  # id → the work as JSON
_BEARERS: Final = b"i"  # id or identifier → ids of the works that have it, as JSON; empty: only the work with this id
_KEY: Final = b"k"  # hashed key → offset of the last change that concerns it
_LOG: Final = b"l"  # offset → change
_NEXT_OFFSET: Final = b"o"
_COUNT: Final = b"n"
_TABLE_ID: Final = b"b"

_OFFSET: Final = struct.Struct(">Q")
#: Head of a log entry: arrival time (ms) and number of keys. The keys follow, then a JSON list: the work, ids that are gone.
_HEAD: Final = struct.Struct(">qI")
_KEY_BYTES: Final = 8

_WRITE_BUFFER_BYTES: Final = 32 * 2**20
#: Total of blocks, indexes and filters.
_CACHE_BYTES: Final = 128 * 2**20
_FILTER_BITS: Final = 10
_LOCK_S: Final = LOCK_S
#: Number of nodes whose canonical id is cached. A change of any component clears the cache.
_MAX_CANONICAL: Final = 100_000


@dataclass(frozen=True, slots=True)
class Change:
    """Entry of the log: the change that one record of the topic made.

    ``arrived``: ms since 1970. ``work``: the id of the work that was put or removed. ``keys``: the hashed keys of the work's
    new state, and the hashed ``work_key`` of its id and of every other id or identifier whose canonical id changed (in a
    component of more than connected_components.MAX_REPORTED nodes, only of the old and the new canonical id). ``gone``: ids and
    identifiers that belonged to a work and no longer belong to any.
    """

    offset: int
    arrived: int
    work: str
    keys: tuple[bytes, ...]
    gone: tuple[str, ...]


class WorkTable:
    """Works by id and identifier, and their changes, as of ``offset``: the first offset of the topic that is not applied.

    For use by one thread. Every method raises StoreFailed if the system refuses an operation or the files prove to be damaged.
    Damaged files are removed, so the next start rebuilds the table.
    """

    def __init__(self, folder: Path, *, topic_id: str | None, stale_after_s: float) -> None:
        """Open the table, or begin a new one at offset 0 and log the reason.

        A new table replaces one that is damaged, of another format, of a topic with another id (None: unknown), or last written
        more than ``stale_after_s`` seconds ago: Kafka may have deleted tombstones since then.
        """
        self.folder = folder
        self._rocks = Rocks(
            folder,
            "the ledger's table of works",
            format_number=FORMAT,
            topics={b"c": ("catalog", topic_id)},
            stale_after_s=stale_after_s,
            options=_options(),
            lock_s=_LOCK_S,
        )
        offset, count = self._rocks.get_many((_NEXT_OFFSET, _COUNT))
        self.offset, self._count = int(offset or 0), int(count or 0)
        self._canonical: dict[str, str] = {}
        #: The page of changes that was read last, by its start, its limit and the offset of the table at that time.
        self._page: tuple[tuple[int, int, int], Sequence[Change]] | None = None
        table_id = self._rocks.get(_TABLE_ID)
        if table_id is None:
            batch = WriteBatch(raw_mode=True)
            batch.put(_TABLE_ID, table_id := secrets.token_bytes(8))
            self._rocks.write(batch)
        #: Random id that distinguishes this table from the tables before and after it in the same folder.
        self.table_id = table_id

    def __len__(self) -> int:
        """Return the number of works."""
        return self._count

    def apply(self, records: Sequence[tuple[int, int, Work | str]], next_offset: int) -> None:
        """Apply records in order of offset and advance ``offset`` to ``next_offset``, atomically.

        A record consists of its offset, its timestamp (ms), and a work or the id of a removed work. Records below ``offset``
        are skipped.
        """
        update = _Update(self._rocks, [record for record in records if record[0] >= self.offset])
        offset, count = max(self.offset, next_offset), self._count + update.added
        batch = update.batch
        batch.put(_NEXT_OFFSET, b"%d" % offset)
        batch.put(_COUNT, b"%d" % count)
        self._rocks.write(batch)
        self.offset, self._count = offset, count
        if update.components.changed:
            self._canonical.clear()

    def get(self, work_id: str) -> Work | None:
        """Return the work with exactly this id, or None."""
        row = self._rocks.get(_WORK + work_id.encode())
        return None if row is None else Work.from_json(row)

    def canonical(self, work_id: str) -> str:
        """Return the canonical id of an id or identifier; ``work_id`` itself if no work has it."""
        if (known := self._canonical.get(work_id)) is not None:
            return known
        found = _Rows(self._rocks).components.of(work_id)
        if found is None:
            return work_id
        if len(found.works) > 1:
            if len(self._canonical) + len(found.nodes) > _MAX_CANONICAL:
                self._canonical.clear()
            self._canonical.update(dict.fromkeys(found.nodes, found.canonical))
        return found.canonical

    def alive(self, work_id: str) -> bool:
        """Return whether some work has ``work_id`` as its id or as an identifier."""
        return self._rocks.get(_BEARERS + work_id.encode()) is not None

    def changes(self, start: int, limit: int) -> Sequence[Change]:
        """Return at most ``limit`` changes in order of offset, from offset ``start`` on."""
        page = (start, limit, self.offset)
        if self._page is None or self._page[0] != page:  # all partitions read the same page
            rows = islice(self._rocks.rows(_LOG, _OFFSET.pack(start)), limit)
            self._page = page, [_change_in(key, row) for key, row in rows]
        return self._page[1]

    def changed_since(self, keys: Iterable[bytes], offset: int) -> int | None:
        """Return the highest offset of a change that concerns any of these hashed keys; None if it is below ``offset``."""
        rows = self._rocks.get_many([_KEY + key for key in keys])
        last = max((_OFFSET.unpack(row)[0] for row in rows if row is not None), default=-1)
        return last if last >= offset else None

    def close(self) -> None:
        """Close the files."""
        self._rocks.close()


class _Rows:
    """Rows of works and bearers, and the components that they form."""

    def __init__(self, rocks: Rocks) -> None:
        self._rocks = rocks
        #: Works read or changed, as JSON; None: there is no such work.
        self.works: dict[str, bytes | None] = {}
        self.components = Components(self._bearers, self._keys)

    def load(self, works: Iterable[str]) -> None:
        """Read all these works in one call."""
        missing = list(dict.fromkeys(work_id for work_id in works if work_id not in self.works))
        if missing:
            rows = self._rocks.get_many([_WORK + work_id.encode() for work_id in missing])
            self.works.update(zip(missing, rows, strict=True))

    def _keys(self, works: Sequence[str]) -> list[tuple[str, ...]]:
        self.load(works)
        return [_keys_in(self.works[work_id]) for work_id in works]

    def _bearers(self, nodes: Sequence[str]) -> list[set[str]]:
        rows = self._rocks.get_many([_BEARERS + node.encode() for node in nodes])
        return [
            set() if row is None else set(orjson.loads(row)) if row else {node} for node, row in zip(nodes, rows, strict=True)
        ]


class _Update(_Rows):
    """Changes by a list of records, as a batch to write. ``added``: number of works added, minus works removed."""

    def __init__(self, rocks: Rocks, records: Sequence[tuple[int, int, Work | str]]) -> None:
        super().__init__(rocks)
        self.added = 0
        self.batch = WriteBatch(raw_mode=True)
        self._last: dict[bytes, int] = {}
        keyed = [() if isinstance(what, str) else keys_of(what) for _, _, what in records]
        self.load(what if isinstance(what, str) else what.id for _, _, what in records)
        self.components.load(key for keys in keyed for key in keys)
        written: dict[str, bytes | None] = {}
        for (offset, arrived, what), keys in zip(records, keyed, strict=True):
            self._take(offset, arrived, what, keys, written)
        self._finish(written)

    def _take(
        self, offset: int, arrived: int, what: Work | str, after: tuple[str, ...], written: dict[str, bytes | None]
    ) -> None:
        work_id, work = (what, None) if isinstance(what, str) else (what.id, what)
        row, before = None if work is None else work.to_json(), self.works[work_id]
        if before == row or (before is not None and work is not None and Work.from_json(before) == work):
            return
        concerned = () if work is None else work_keys(work)
        self.added += (row is not None) - (before is not None)
        moved, gone = self.components.change(work_id, _keys_in(before), after)
        self.works[work_id] = written[work_id] = row
        keys = dict.fromkeys(map(hashed, (*concerned, work_key(work_id), *map(work_key, moved))), offset)
        self._last.update(keys)
        self.batch.put(
            _LOG + _OFFSET.pack(offset), _HEAD.pack(arrived, len(keys)) + b"".join(keys) + orjson.dumps([work_id, *gone])
        )

    def _finish(self, written: dict[str, bytes | None]) -> None:
        batch = self.batch
        for work_id, row in written.items():
            _put(batch, _WORK + work_id.encode(), row)
        for node in self.components.changed:
            bearers = self.components.bearers[node]
            alone = len(bearers) == 1 and node in bearers
            _put(batch, _BEARERS + node.encode(), b"" if alone else orjson.dumps(list(bearers)) if bearers else None)
        for key, offset in self._last.items():
            batch.put(_KEY + key, _OFFSET.pack(offset))


def _put(batch: WriteBatch, key: bytes, value: bytes | None) -> None:
    if value is None:
        batch.delete(key)
    else:
        batch.put(key, value)


def _keys_in(row: bytes | None) -> tuple[str, ...]:
    """Return ``keys_of`` the work in the row without constructing the work; empty if there is no work."""
    if row is None:
        return ()
    try:
        work = orjson.loads(row)
    except orjson.JSONDecodeError:  # it refuses numbers of hundreds of digits, which pydantic accepts
        return keys_of(Work.from_json(row))
    ids = work.get("ids")
    if not ids:
        return (work["id"],)
    borne = (f"{kind}:{value}" for kind in ID_KINDS if (value := ids.get(kind)))
    return tuple(dict.fromkeys((work["id"], *borne)))


def _change_in(key: bytes, row: bytes) -> Change:
    arrived, count = _HEAD.unpack_from(row)
    end = _HEAD.size + count * _KEY_BYTES
    keys = tuple(row[at : at + _KEY_BYTES] for at in range(_HEAD.size, end, _KEY_BYTES))
    work_id, *gone = orjson.loads(row[end:])
    return Change(_OFFSET.unpack(key)[0], arrived, work_id, keys, tuple(gone))


def _options() -> Options:
    blocks = BlockBasedOptions()
    blocks.set_bloom_filter(_FILTER_BITS, False)
    blocks.set_block_cache(Cache(_CACHE_BYTES))
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(blocks)
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_compression_type(DBCompressionType.lz4())
    return options
