"""Log of the newest changes of the catalog: which records of the topic ``catalog`` concern references decided earlier.

A change is a function of one record, so no ledger keeps the catalog's works. It has the last records that changed a work, the
offset of the last of them that concerns each blocking key, and a digest of each work that was read, by which a repeated record
is recognised. It is a RocksDB (rocksdb.py) in the state folder, one per ledger process, and a cache of the topic.

Invariants:
1. All rows describe the topic from ``start`` to ``offset``, because rows and offsets are written in one batch.
2. The log has one entry for each record that changed a work, in order of offset. A record that changes nothing has none. A
   record of a work that was not read since ``begin`` counts as a change.
3. ``changed_since`` never misses a change: all that is before ``start`` counts as changed.
4. ``_recent`` has the last offset of every key that a change from ``_recent_start`` on concerns. Most outcomes are decided with
   a catalog that is a few changes old, so it answers for them without a read of the store.

Cost: a record costs one row for its entry, one for each of at most 21 keys and one of its work. ``trim`` removes the first two.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Final

import orjson
from rocksdict import BlockBasedOptions, Cache, DBCompressionType, Options, WriteBatch

from reflink.blocking.keys import RULES, hashed, work_key, work_keys
from reflink.catalog.mapped import keys_of
from reflink.entities import Work
from workers.ledger.stores.rocksdb import LOCK_S, Rocks

#: Format of the rows below and of the blocking keys in them.
FORMAT: Final = RULES
#: First byte of the keys of each table. workers/ledger/stores/rocksdb.py uses other bytes for its own rows.
_DIGEST: Final = b"d"  # hashed work_key → digest of the work's state; empty: removed
_KEY: Final = b"k"  # hashed key → offset of the last change that concerns it
_LOG: Final = b"l"  # offset → change
_START: Final = b"s"
_NEXT_OFFSET: Final = b"o"
_BEGIN: Final = b"e"
_LOG_ID: Final = b"b"

_OFFSET: Final = struct.Struct(">Q")
#: Head of a log entry: arrival time (ms), number of keys, bytes of the work's id. Keys, id and the work's new state follow.
_HEAD: Final = struct.Struct(">qII")
_KEY_BYTES: Final = 8

_WRITE_BUFFER_BYTES: Final = 32 * 2**20
#: Total of blocks, indexes and filters.
_CACHE_BYTES: Final = 64 * 2**20
_FILTER_BITS: Final = 10
#: Keys in memory, about 170 bytes each.
_RECENT_KEYS: Final = 100_000
_LOCK_S: Final = LOCK_S


@dataclass(frozen=True, slots=True)
class Change:
    """Entry of the log: the change that one record of the topic made.

    ``arrived``: ms since 1970. ``work``: the id of the work that was put or removed. ``keys``: the hashed keys of the work's
    new state, and the hashed ``work_key`` of its id and of every identifier in that state. ``row``: the new state as JSON,
    empty if the work was removed.
    """

    offset: int
    arrived: int
    work: str
    keys: tuple[bytes, ...]
    row: bytes

    @property
    def removed(self) -> bool:
        """Whether the record removed the work."""
        return not self.row

    def state(self) -> Work | None:
        """Return the new state of the work; None if it was removed."""
        return Work.from_json(self.row) if self.row else None

    @classmethod
    def of(cls, offset: int, arrived: int, what: Work | str) -> Change:
        """Return the change that a record makes: ``what`` is a work, or the id of a removed work."""
        if isinstance(what, str):
            return cls(offset, arrived, what, (hashed(work_key(what)),), b"")
        keys = dict.fromkeys(map(hashed, (*work_keys(what), *map(work_key, keys_of(what)))))
        return cls(offset, arrived, what.id, tuple(keys), what.to_json())


class ChangeLog:
    """The changes from offset ``start`` to ``offset``, the first offset of the topic that was not read.

    ``end``: the last known end of the topic. For use by one thread. Every method raises StoreFailed if the system refuses an
    operation or the files prove to be damaged. Damaged files are removed, so the next start rebuilds the log.
    """

    def __init__(self, folder: Path, *, topic_id: str | None, stale_after_s: float, recent_keys: int = _RECENT_KEYS) -> None:
        """Open the log, or begin a new one at offset 0 and log the reason. ``recent_keys``: maximum number of keys in memory.

        A new log replaces one that is damaged, of another format, of a topic with another id (None: unknown), or last written
        more than ``stale_after_s`` seconds ago: Kafka may have deleted tombstones since then.
        """
        self.folder = folder
        self._rocks = Rocks(
            folder,
            "the ledger's log of changes",
            format_number=FORMAT,
            topics={b"c": ("catalog", topic_id)},
            stale_after_s=stale_after_s,
            options=_options(),
            lock_s=_LOCK_S,
        )
        rows = [int(row or 0) for row in self._rocks.get_many((_BEGIN, _START, _NEXT_OFFSET))]
        self._begin, self.start, self.offset = rows
        self.end = self.offset
        self._recent, self._recent_start, self._recent_keys = dict[bytes, int](), self.offset, recent_keys
        #: The page of changes that was read last, by its start, its limit and the offset of the log at that time.
        self._page: tuple[tuple[int, int, int], Sequence[Change]] | None = None
        log_id = self._rocks.get(_LOG_ID)
        #: Whether the log was begun by this process.
        self.is_new = log_id is None
        #: Random id that distinguishes this log from the logs before and after it in the same folder.
        self.log_id = secrets.token_bytes(8) if log_id is None else log_id
        if log_id is None:
            self.begin(0)

    def begin(self, offset: int) -> None:
        """Forget everything and begin at ``offset``. The log keeps its id."""
        self._rocks.wipe()
        self._begin = self.start = self.offset = offset
        self.end = max(self.end, offset)
        self._recent, self._recent_start = {}, offset
        self._page = None
        batch = WriteBatch(raw_mode=True)
        batch.put(_LOG_ID, self.log_id)
        for name in (_BEGIN, _START, _NEXT_OFFSET):
            batch.put(name, b"%d" % offset)
        self._rocks.write(batch)

    def apply(self, records: Sequence[tuple[int, int, Work | str]], next_offset: int) -> None:
        """Add records in order of offset and advance ``offset`` to ``next_offset``, atomically.

        A record consists of its offset, its timestamp (ms), and a work or the id of a removed work. Records below ``offset``
        are skipped.
        """
        records = [record for record in records if record[0] >= self.offset]
        names = [hashed(work_key(what if isinstance(what, str) else what.id)) for _, _, what in records]
        rows = self._rocks.get_many([_DIGEST + name for name in names])
        known = dict(zip(names, rows, strict=True))
        # If the log began with the topic, a work that was not read does not exist.
        absent = b"" if self._begin == 0 else None
        batch, last, digests = WriteBatch(raw_mode=True), dict[bytes, int](), dict[bytes, bytes]()
        for (offset, arrived, what), name in zip(records, names, strict=True):
            digest = b"" if isinstance(what, str) else _digest(what)
            before = absent if known[name] is None else known[name]
            if digest == before:
                continue
            known[name] = digests[name] = digest
            change = Change.of(offset, arrived, what)
            last.update(dict.fromkeys(change.keys, offset))
            work_id = change.work.encode()
            head = _HEAD.pack(arrived, len(change.keys), len(work_id))
            batch.put(_LOG + _OFFSET.pack(offset), b"".join((head, *change.keys, work_id, change.row)))
        for key, offset in last.items():
            batch.put(_KEY + key, _OFFSET.pack(offset))
        for name, digest in digests.items():
            batch.put(_DIGEST + name, digest)
        offset = max(self.offset, next_offset)
        batch.put(_NEXT_OFFSET, b"%d" % offset)
        self._rocks.write(batch)
        if len(self._recent) + len(last) > self._recent_keys:
            self._recent, self._recent_start = {}, offset
        else:
            self._recent |= last
        self.offset, self.end = offset, max(self.end, offset)

    def trim(self, before: int, limit: int = 2000) -> None:
        """Remove at most ``limit`` changes, the oldest first, below offset ``before``. Digests stay."""
        before = min(before, self.offset)
        if before <= self.start:
            return
        rows = self._rocks.rows(_LOG, _OFFSET.pack(self.start))
        gone = list(islice(takewhile(lambda row: _OFFSET.unpack(row[0])[0] < before, rows), limit))
        start = before if len(gone) < limit else _OFFSET.unpack(gone[-1][0])[0] + 1
        keys = list(dict.fromkeys(key for at, row in gone for key in _change_in(at, row).keys))
        batch = WriteBatch(raw_mode=True)
        for key, last in zip(keys, self._rocks.get_many([_KEY + key for key in keys]), strict=True):
            if last is not None and _OFFSET.unpack(last)[0] < start:
                batch.delete(_KEY + key)
        for at, _ in gone:
            batch.delete(_LOG + at)
        batch.put(_START, b"%d" % start)
        self._rocks.write(batch)
        self.start, self._page = start, None

    def changes(self, start: int, limit: int) -> Sequence[Change]:
        """Return at most ``limit`` changes in order of offset, from offset ``start`` on."""
        page = (start, limit, self.offset)
        if self._page is not None and self._page[0] == page:  # all partitions read the same page
            return self._page[1]
        rows = islice(self._rocks.rows(_LOG, _OFFSET.pack(start)), limit)
        found = [_change_in(key, row) for key, row in rows]
        if limit > 1:  # a single change is looked up for its time of arrival
            self._page = page, found
        return found

    def changed_since(self, keys: Iterable[bytes], offset: int) -> int | None:
        """Return the highest offset of a change that concerns any of these hashed keys; None if it is below ``offset``.

        If ``offset`` is below ``start``, the offset before ``start`` counts as such a change.
        """
        if offset >= self._recent_start:
            last = max((self._recent.get(key, -1) for key in keys), default=-1)
        else:
            rows = self._rocks.get_many([_KEY + key for key in keys])
            last = max((_OFFSET.unpack(row)[0] for row in rows if row is not None), default=-1)
        if offset < self.start:
            return max(last, self.start - 1)
        return last if last >= offset else None

    def close(self) -> None:
        """Close the files."""
        self._rocks.close()


def _digest(work: Work) -> bytes:
    """Return a digest that is equal for equal works."""
    try:
        content = orjson.dumps(work.to_dict(), option=orjson.OPT_SORT_KEYS)
    except TypeError:  # it refuses numbers of hundreds of digits, which pydantic accepts
        content = json.dumps(work.to_dict(), sort_keys=True).encode()
    return hashlib.blake2b(content, digest_size=8).digest()


def _change_in(key: bytes, row: bytes) -> Change:
    arrived, count, length = _HEAD.unpack_from(row)
    end = _HEAD.size + count * _KEY_BYTES
    keys = tuple(row[at : at + _KEY_BYTES] for at in range(_HEAD.size, end, _KEY_BYTES))
    return Change(_OFFSET.unpack(key)[0], arrived, row[end : end + length].decode(), keys, row[end + length :])


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
