"""The ledger's memory on disk: one LMDB per partition, a cache of that partition of ``links`` and ``manifests``.

It is written after the commit and never before, so it is behind at worst, and ``links`` and ``manifests`` bring it up again.
LMDB was chosen by measurement (benchmarks/store.py).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

import lmdb

Table = Literal["links", "manifests"]
TABLES: Final[tuple[Table, ...]] = ("links", "manifests")
_META: Final = b"meta"
_WRITTEN: Final = b"written"
#: LMDB's keys are at most 511 bytes; an id longer than this is stored under its start and a hash.
_LONGEST_KEY: Final = 500


class PartitionStore:
    """One partition's tables: reference id -> link event, citing id -> paper state, as published.

    ``next_offset`` of each table is the first offset of its topic not in it yet.
    """

    def __init__(self, folder: Path, *, map_bytes: int, stale_after_s: float) -> None:
        """Opens, or begins anew when it was last written before ``stale_after_s``: tombstones since then may be gone."""
        self.folder = folder
        self._map_bytes = map_bytes
        self._open()
        written = self._meta(_WRITTEN)
        if written and time.time() - written / 1000 > stale_after_s:
            self.wipe()

    def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # metasync off: after a power cut the last transactions may be missing, never half there; links has them.
        self._env = lmdb.open(str(self.folder), map_size=self._map_bytes, max_dbs=3, metasync=False)
        self._tables = {table: self._env.open_db(table.encode()) for table in TABLES}
        self._metadata = self._env.open_db(_META)

    def wipe(self) -> None:
        """Forgets everything; the topics have it."""
        self._env.close()
        shutil.rmtree(self.folder)
        self._open()

    def get(self, table: Table, key: str) -> bytes | None:
        """What was last published under the key."""
        with self._env.begin(db=self._tables[table]) as transaction:
            found: bytes | None = transaction.get(_stored(key))
            return found

    def write(self, rows: Iterable[tuple[Table, str, bytes | None]], next_offsets: Mapping[Table, int]) -> None:
        """Puts or (None) deletes rows and moves on, in one transaction on disk."""
        with self._env.begin(write=True) as transaction:
            for table, key, value in rows:
                if value is None:
                    transaction.delete(_stored(key), db=self._tables[table])
                else:
                    transaction.put(_stored(key), value, db=self._tables[table])
            for table, offset in next_offsets.items():
                transaction.put(table.encode(), b"%d" % offset, db=self._metadata)
            transaction.put(_WRITTEN, b"%d" % int(time.time() * 1000), db=self._metadata)

    def next_offset(self, table: Table) -> int:
        """Where rolling forward begins."""
        return self._meta(table.encode())

    def count(self, table: Table) -> int:
        """Rows."""
        with self._env.begin() as transaction:
            return int(transaction.stat(self._tables[table])["entries"])

    def rows(self, table: Table) -> Iterator[bytes]:
        """All values, in order of key."""
        with self._env.begin(db=self._tables[table]) as transaction:
            for _, value in transaction.cursor():
                yield value

    def close(self) -> None:
        """Closes the files."""
        self._env.close()

    def _meta(self, key: bytes) -> int:
        with self._env.begin(db=self._metadata) as transaction:
            return int(transaction.get(key) or 0)


def _stored(key: str) -> bytes:
    data = key.encode()
    if len(data) <= _LONGEST_KEY:
        return data
    import hashlib

    return data[: _LONGEST_KEY - 32] + hashlib.blake2b(data, digest_size=32).digest()
