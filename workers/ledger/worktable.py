"""The works of the catalog in a ledger's state folder, by key, with a log of what changed and whom it concerns.

A RocksDB (rocks.py), one per process, a cache of the topic ``catalog``. It grows with the catalog on disk and not in memory.
The log is kept whole.
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

from reflink.catalog.mapped import keys_of
from reflink.entities import ID_KINDS, Work
from reflink.keys import RULES, hashed, work_key, work_keys
from workers.ledger.components import Components
from workers.ledger.rocks import LOCK_S, Rocks

#: Of the rows below, and of the keys in them.
FORMAT: Final = RULES
#: First byte of the keys of each table; others than those that workers/ledger/rocks.py has for itself.
_WORK: Final = b"a"  # id → the work as JSON
_BEARERS: Final = b"i"  # id or identifier → ids of the works that bear it, as JSON; empty: the work of this id alone
_KEY: Final = b"k"  # hashed key → offset of the last change that concerns it
_LOG: Final = b"l"  # offset → change
_NEXT_OFFSET: Final = b"o"
_COUNT: Final = b"n"
_BORN: Final = b"b"

_OFFSET: Final = struct.Struct(">Q")
#: Of a row of the log: when it arrived, how many keys follow. Behind them a JSON list: the work, then what is gone.
_HEAD: Final = struct.Struct(">qI")
_KEY_BYTES: Final = 8

_WRITE_BUFFER_BYTES: Final = 32 * 2**20
#: Blocks, indexes and filters, all in all.
_CACHE_BYTES: Final = 128 * 2**20
_FILTER_BITS: Final = 10
_LOCK_S: Final = LOCK_S
#: Nodes whose canonical id is remembered until a component changes.
_REMEMBERED: Final = 100_000


@dataclass(frozen=True, slots=True)
class Change:
    """What one record of the topic changed.

    ``arrived``: ms since 1970. ``work``: the id of the work that was put or removed. ``keys``: hashed keys of the work as it
    now is, and the hashed ``work_key`` of its id and of every other id or identifier whose canonical id this changed (of a
    component of more than components.MOST_TOLD, those that are or were canonical). ``gone``: ids and identifiers
    that stood for a work and stand for none any more.
    """

    offset: int
    arrived: int
    work: str
    keys: tuple[bytes, ...]
    gone: tuple[str, ...]


class WorkTable:
    """Works by id and what they share, as of ``offset``: the first offset of the topic not applied.

    For one thread. Every method raises StoreFailed when the system refuses, and when the files prove to be damaged; they are
    removed then, for the next start to begin anew.
    """

    def __init__(self, folder: Path, *, topic_id: str | None, stale_after_s: float) -> None:
        """Opens, or begins anew at offset 0, with a log line that says why.

        That is when it is damaged, of another format, of a topic with another id (None: not known), or was last written before
        ``stale_after_s``: tombstones since then may be gone.
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
        #: The changes that were asked for last: from where, how many, and how far there were any.
        self._page: tuple[tuple[int, int, int], Sequence[Change]] | None = None
        born = self._rocks.get(_BORN)
        if born is None:
            batch = WriteBatch(raw_mode=True)
            batch.put(_BORN, born := secrets.token_bytes(8))
            self._rocks.write(batch)
        #: What tells it from a table that was there before, or will be after it.
        self.born = born

    def __len__(self) -> int:
        """Works that are there."""
        return self._count

    def apply(self, records: Sequence[tuple[int, int, Work | str]], next_offset: int) -> None:
        """Takes records in order of offset and moves on to ``next_offset``, all or nothing.

        A record is its offset, its timestamp (ms), and a work or the id of one that is gone. Those that were applied before
        are passed over.
        """
        step = _Step(self._rocks, [record for record in records if record[0] >= self.offset])
        offset, count = max(self.offset, next_offset), self._count + step.more
        batch = step.batch
        batch.put(_NEXT_OFFSET, b"%d" % offset)
        batch.put(_COUNT, b"%d" % count)
        self._rocks.write(batch)
        self.offset, self._count = offset, count
        if step.components.changed:
            self._canonical.clear()

    def get(self, work_id: str) -> Work | None:
        """The work with exactly this id."""
        row = self._rocks.get(_WORK + work_id.encode())
        return None if row is None else Work.from_json(row)

    def canonical(self, work_id: str) -> str:
        """The smallest id among the works that are one with it; ``work_id`` itself when no work has or bears it."""
        if (known := self._canonical.get(work_id)) is not None:
            return known
        found = _Rows(self._rocks).components.of(work_id)
        if found is None:
            return work_id
        if len(found.works) > 1:
            if len(self._canonical) + len(found.nodes) > _REMEMBERED:
                self._canonical.clear()
            self._canonical.update(dict.fromkeys(found.nodes, found.canonical))
        return found.canonical

    def alive(self, work_id: str) -> bool:
        """Whether the work, or one that is one with it, is there."""
        return self._rocks.get(_BEARERS + work_id.encode()) is not None

    def changes(self, start: int, limit: int) -> Sequence[Change]:
        """At most so many changes in order of offset, the first of them at ``start`` or later."""
        asked = (start, limit, self.offset)
        if self._page is None or self._page[0] != asked:  # every partition asks for the same
            rows = islice(self._rocks.rows(_LOG, _OFFSET.pack(start)), limit)
            self._page = asked, [_change_in(key, row) for key, row in rows]
        return self._page[1]

    def changed_since(self, keys: Iterable[bytes], offset: int) -> int | None:
        """The highest offset of a change that concerns any of these hashed keys; None when it is below ``offset``."""
        rows = self._rocks.get_many([_KEY + key for key in keys])
        last = max((_OFFSET.unpack(row)[0] for row in rows if row is not None), default=-1)
        return last if last >= offset else None

    def close(self) -> None:
        """Closes the files."""
        self._rocks.close()


class _Rows:
    """The rows of works and bearers, and the components that they make."""

    def __init__(self, rocks: Rocks) -> None:
        self._rocks = rocks
        #: Works read or changed, as JSON; None for one that is not there.
        self.works: dict[str, bytes | None] = {}
        self.components = Components(self._bearers, self._keys)

    def load(self, works: Iterable[str]) -> None:
        """Reads all of these works at once."""
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


class _Step(_Rows):
    """Records applied, as a batch to be written; ``more``: works that came, less those that went."""

    def __init__(self, rocks: Rocks, records: Sequence[tuple[int, int, Work | str]]) -> None:
        super().__init__(rocks)
        self.more = 0
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
        self.more += (row is not None) - (before is not None)
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
    """``keys_of`` of the work in the row, without making it; none where there is no work."""
    if row is None:
        return ()
    try:
        work = orjson.loads(row)
    except orjson.JSONDecodeError:  # a number of hundreds of digits, which pydantic takes
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
