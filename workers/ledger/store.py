"""The ledger's memory on disk: one RocksDB per partition, a cache of that partition of the topics that hold its outcomes.

It is written after the commit and never before, so it is behind at worst, and the topics bring it up again. What
workers/ledger/rocks.py says of damage and refusals holds for it. RocksDB was chosen by measurement (benchmarks/store.py).

Beside what is published it holds what no topic has: an index of the references by key, how far waking and sweeping are, and
which references are due to be judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from rocksdict import BlockBasedOptions, Options, SliceTransform, WriteBatch

from reflink.keys import RULES
from workers.ledger.indexing import keys_of
from workers.ledger.rocks import LOCK_S, Rocks

#: Those that are topics, by the topic's name.
Topical = Literal["links", "manifests", "overrides"]
#: ``progress``: what is under way → how far; ``due``: reference id → the catalog offset it must be judged at.
Table = Literal["links", "manifests", "overrides", "progress", "due"]
TABLES: Final[tuple[Topical, ...]] = ("links", "manifests", "overrides")
#: Of the keys and values below; 1 had no row that says so, 2 no index. With those of keys: a change of either is another sum.
FORMAT: Final = 2 + RULES
#: First byte of the keys of each table; others than those that workers/ledger/rocks.py has for itself.
_PREFIX: Final[dict[str, bytes]] = {"links": b"l", "manifests": b"m", "overrides": b"r", "progress": b"p", "due": b"d"}
_NEXT_OFFSET: Final = b"o"
#: A row for each key of each reference: the hashed key, then the reference's id.
_INDEX: Final = b"k"
#: A worker has a store per partition, so each is modest.
_WRITE_BUFFER_BYTES: Final = 16 * 2**20
_LOCK_S: Final = LOCK_S
#: Bytes of a hashed key; bits of the filter for each row.
KEY_BYTES: Final = 8
_FILTER_BITS: Final = 10


class PartitionStore:
    """One partition's tables: reference id -> link event, citing id -> paper state, reference id -> override, as published.

    ``next_offset`` of each topic is the first offset not in it yet. Every method raises StoreFailed when the system refuses,
    and when the store proves to be damaged; it is removed then, for the next start to begin anew.
    """

    def __init__(
        self,
        folder: Path,
        *,
        stale_after_s: float,
        topic_ids: Mapping[Topical, str | None] | None = None,
        keys: Callable[[bytes], frozenset[bytes]] = keys_of,
    ) -> None:
        """Opens, or begins anew, with a log line that says why.

        That is when it is damaged, of another format, of topics with other ids (None: not known), or was last written before
        ``stale_after_s``: tombstones since then may be gone. ``keys``: the hashed keys by which a link event is found.
        """
        self.folder, self._keys = folder, keys
        self._rocks = Rocks(
            folder,
            "the ledger's store",
            format_number=FORMAT,
            topics={_PREFIX[table]: (table, topic_id) for table, topic_id in (topic_ids or {}).items()},
            stale_after_s=stale_after_s,
            options=_options(),
            lock_s=_LOCK_S,
        )

    def wipe(self) -> None:
        """Forgets everything; the topics have it."""
        self._rocks.wipe()

    def get(self, table: Table, key: str) -> bytes | None:
        """What was last written under the key."""
        return self._rocks.get(_PREFIX[table] + key.encode())

    def write(self, rows: Iterable[tuple[Table, str, bytes | None]], next_offsets: Mapping[Topical, int]) -> None:
        """Puts or (None) deletes rows and moves on, all or nothing; the index goes with the links."""
        batch = WriteBatch(raw_mode=True)
        # Of several for one key the last one counts, and the index must know what it replaces.
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
                old, new = self._keys_or_none(before[key]), self._keys_or_none(value)
                for hashed in old - new:
                    batch.delete(_INDEX + hashed + name)
                for hashed in new - old:
                    batch.put(_INDEX + hashed + name, b"")
        for table, offset in next_offsets.items():
            batch.put(_NEXT_OFFSET + _PREFIX[table], b"%d" % offset)
        self._rocks.write(batch)

    def next_offset(self, table: Topical) -> int:
        """Where rolling forward begins."""
        return int(self._rocks.get(_NEXT_OFFSET + _PREFIX[table]) or 0)

    def rows(self, table: Table, after: str = "") -> Iterator[tuple[str, bytes]]:
        """Keys and values, in order of key, of all keys behind ``after``."""
        for key, value in self._rocks.rows(_PREFIX[table], after.encode() + b"\0" if after else b""):
            yield key.decode(), value

    def references(self, key: bytes, after: str = "", most: int = 1000) -> list[str]:
        """Ids of at most so many references that have the hashed key, ascending, behind ``after``."""
        start = after.encode() + b"\0" if after else b""
        return [name.decode() for name, _ in islice(self._rocks.rows(_INDEX + key, start), most)]

    def borne(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of the hashed keys that some reference has, in their order."""
        found = set(self._rocks.begun_with(_INDEX + key for key in keys))
        return [key for key in keys if _INDEX + key in found]

    def close(self) -> None:
        """Closes the files."""
        self._rocks.close()

    def _keys_or_none(self, value: bytes | None) -> frozenset[bytes]:
        return frozenset() if value is None else self._keys(value)


def _options() -> Options:
    """Most keys that are looked for are not there: a filter of prefixes says so without reading (benchmarks/ledger)."""
    options, blocks = Options(raw_mode=True), BlockBasedOptions()
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    blocks.set_bloom_filter(_FILTER_BITS, False)
    options.set_block_based_table_factory(blocks)
    options.set_prefix_extractor(SliceTransform.create_max_len_prefix(len(_INDEX) + KEY_BYTES))
    options.set_memtable_prefix_bloom_ratio(0.1)
    return options
