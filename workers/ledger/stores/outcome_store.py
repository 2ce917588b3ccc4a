"""Store of the ledger: one RocksDB per partition, a cache of that partition of ``links``, ``manifests`` and ``overrides``.

Invariants:
1. Published rows are written after their commit, never before. A store is at worst behind, and the topics bring it up to date.
2. Rows, index and offsets are written in one batch, so they always agree.
3. Damage and refusals by the system are handled by workers/ledger/stores/rocksdb.py.

Beside published rows, a store holds data that no topic has: an index of the references by blocking key, and the progress of the
sweep. RocksDB was chosen by measurement (benchmarks/ledger/embedded_stores.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from rocksdict import BlockBasedOptions, Cache, Options, SliceTransform, WriteBatch

from reflink.blocking.keys import RULES
from workers.ledger.stores.key_index import keys_of
from workers.ledger.stores.rocksdb import LOCK_S, Rocks

#: Tables that cache a topic, by the topic's name.
Topical = Literal["links", "manifests", "overrides"]
#: ``progress``: name → progress of the sweep, and the tally of absent works.
Table = Literal["links", "manifests", "overrides", "progress"]
TABLES: Final[tuple[Topical, ...]] = ("links", "manifests", "overrides")
#: Format of the keys and values below (1 had no format row, 2 no index, 3 no aliases in it), plus the version of the rules for
#: blocking keys.
FORMAT: Final = 3 + RULES
#: First byte of the keys of each table. workers/ledger/stores/rocksdb.py uses other bytes for its own rows.
_PREFIX: Final[dict[str, bytes]] = {"links": b"l", "manifests": b"m", "overrides": b"r", "progress": b"p"}
_NEXT_OFFSET: Final = b"o"
#: One row per blocking key of each reference: the hashed key, then the reference's id.
_INDEX: Final = b"k"
#: Small, because a worker has one store per partition.
_WRITE_BUFFER_BYTES: Final = 16 * 2**20
#: Uncompressed blocks of all stores of a process. RocksDB's default is 32 MB for each, which fill over an hour. The page cache
#: has the compressed blocks.
_CACHE_BYTES: Final = 16 * 2**20
_LOCK_S: Final = LOCK_S
#: Bytes of a hashed key; bits of the filter per row.
KEY_BYTES: Final = 8
_FILTER_BITS: Final = 10


class PartitionStore:
    """Tables of one partition: reference id -> link event, citing id -> paper state, reference id -> override, as published.

    ``next_offset`` of a topic is the first offset that is not in the store. Every method raises StoreFailed if the system
    refuses an operation or the store proves to be damaged. A damaged store is removed, so the next start rebuilds it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        stale_after_s: float,
        topic_ids: Mapping[Topical, str | None] | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Open the store, or begin a new one and log the reason.

        A new store replaces one that is damaged, of another format, of topics with other ids (None: unknown), or last written
        more than ``stale_after_s`` seconds ago: Kafka may have deleted tombstones since then. ``cache``: the ``block_cache``
        that it shares with other stores.
        """
        self.folder = folder
        self._rocks = Rocks(
            folder,
            "the ledger's store",
            format_number=FORMAT,
            topics={_PREFIX[table]: (table, topic_id) for table, topic_id in (topic_ids or {}).items()},
            stale_after_s=stale_after_s,
            options=_options(block_cache() if cache is None else cache),
            lock_s=_LOCK_S,
        )

    def wipe(self) -> None:
        """Delete all rows. The store can be restored from the topics."""
        self._rocks.wipe()

    def get(self, table: Table, key: str) -> bytes | None:
        """Return the last value written for the key, or None."""
        return self._rocks.get(_PREFIX[table] + key.encode())

    def write(self, rows: Iterable[tuple[Table, str, bytes | None]], next_offsets: Mapping[Topical, int]) -> None:
        """Put or (None) delete rows, update the index of links, and set the next offsets, atomically."""
        batch = WriteBatch(raw_mode=True)
        # The last of several rows for a key counts; the index also requires the value that it replaces.
        latest = {(table, key): value for table, key, value in rows}
        links = [key for table, key in latest if table == "links"]
        before = dict(zip(links, self._rocks.get_many([_PREFIX["links"] + key.encode() for key in links]), strict=True))
        for (table, key), value in latest.items():
            name = key.encode()
            if value is None:
                batch.delete(_PREFIX[table] + name)
            else:
                batch.put(_PREFIX[table] + name, value)
            if table == "links":
                old, new = _keys_or_none(before[key]), _keys_or_none(value)
                for hashed in old - new:
                    batch.delete(_INDEX + hashed + name)
                for hashed in new - old:
                    batch.put(_INDEX + hashed + name, b"")
        for table, offset in next_offsets.items():
            batch.put(_NEXT_OFFSET + _PREFIX[table], b"%d" % offset)
        self._rocks.write(batch)

    def next_offset(self, table: Topical) -> int:
        """Return the offset at which rolling forward begins."""
        return int(self._rocks.get(_NEXT_OFFSET + _PREFIX[table]) or 0)

    def rows(self, table: Table, after: str = "") -> Iterator[tuple[str, bytes]]:
        """Yield keys and values in order of key, for all keys after ``after``."""
        for key, value in self._rocks.rows(_PREFIX[table], after.encode() + b"\0" if after else b""):
            yield key.decode(), value

    def references(self, key: bytes, after: str = "", limit: int = 1000) -> list[str]:
        """Return the first ``limit`` ids, in order, of references that have the hashed key, after the id ``after``."""
        start = after.encode() + b"\0" if after else b""
        return [name.decode() for name, _ in islice(self._rocks.rows(_INDEX + key, start), limit)]

    def borne(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return the hashed keys that some reference has, in the given order."""
        found = set(self._rocks.begun_with(_INDEX + key for key in keys))
        return [key for key in keys if _INDEX + key in found]

    def close(self) -> None:
        """Close the files."""
        self._rocks.close()


def _keys_or_none(value: bytes | None) -> frozenset[bytes]:
    return frozenset() if value is None else keys_of(value)


def block_cache() -> Cache:
    """Return a cache for the blocks of all stores of a process."""
    return Cache(_CACHE_BYTES)


def _options(cache: Cache) -> Options:
    """Return options with a prefix filter: it detects without a read that a key is absent, as most are (benchmarks/ledger)."""
    options, blocks = Options(raw_mode=True), BlockBasedOptions()
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    blocks.set_bloom_filter(_FILTER_BITS, False)
    blocks.set_block_cache(cache)
    options.set_block_based_table_factory(blocks)
    options.set_prefix_extractor(SliceTransform.create_max_len_prefix(len(_INDEX) + KEY_BYTES))
    options.set_memtable_prefix_bloom_ratio(0.1)
    return options
