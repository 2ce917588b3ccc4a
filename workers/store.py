"""The ledger's memory on disk: one RocksDB per partition, a cache of that partition of ``links`` and ``manifests``.

It is written after the commit and never before, so it is behind at worst, and the topics bring it up again. Writes are
not synced: a killed process loses nothing, a power cut the last ones, and the offset goes with the rows it belongs to.
RocksDB was chosen by measurement (benchmarks/store.py).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from rocksdict import Options, Rdict, WriteBatch, WriteOptions

Table = Literal["links", "manifests"]
TABLES: Final[tuple[Table, ...]] = ("links", "manifests")
#: First byte of the keys of each table, and of what the store knows about itself.
_PREFIX: Final[dict[str, bytes]] = {"links": b"l", "manifests": b"m"}
_NEXT_OFFSET: Final = b"o"
_WRITTEN: Final = b"w"
#: A worker has a store per partition, so each is modest.
_WRITE_BUFFER_BYTES: Final = 16 * 2**20


class PartitionStore:
    """One partition's tables: reference id -> link event, citing id -> paper state, as published.

    ``next_offset`` of each table is the first offset of its topic not in it yet.
    """

    def __init__(self, folder: Path, *, stale_after_s: float) -> None:
        """Opens, or begins anew when it was last written before ``stale_after_s``: tombstones since then may be gone."""
        self.folder = folder
        self._open()
        written = int(self._db.get(_WRITTEN) or 0)
        if written and time.time() - written / 1000 > stale_after_s:
            self.wipe()

    def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
        options.set_keep_log_file_num(2)
        self._db = Rdict(str(self.folder), options)
        self._unsynced = WriteOptions()

    def wipe(self) -> None:
        """Forgets everything; the topics have it."""
        self._db.close()
        shutil.rmtree(self.folder)
        self._open()

    def get(self, table: Table, key: str) -> bytes | None:
        """What was last published under the key."""
        found: bytes | None = self._db.get(_PREFIX[table] + key.encode())
        return found

    def write(self, rows: Iterable[tuple[Table, str, bytes | None]], next_offsets: Mapping[Table, int]) -> None:
        """Puts or (None) deletes rows and moves on, all or nothing."""
        batch = WriteBatch(raw_mode=True)
        for table, key, value in rows:
            stored = _PREFIX[table] + key.encode()
            if value is None:
                batch.delete(stored)
            else:
                batch.put(stored, value)
        for table, offset in next_offsets.items():
            batch.put(_NEXT_OFFSET + _PREFIX[table], b"%d" % offset)
        batch.put(_WRITTEN, b"%d" % int(time.time() * 1000))
        self._db.write(batch, self._unsynced)

    def next_offset(self, table: Table) -> int:
        """Where rolling forward begins."""
        return int(self._db.get(_NEXT_OFFSET + _PREFIX[table]) or 0)

    def rows(self, table: Table) -> Iterator[tuple[str, bytes]]:
        """All keys and values, in order of key."""
        prefix = _PREFIX[table]
        for key, value in self._db.items(from_key=prefix):
            if not key.startswith(prefix):
                return
            yield key[len(prefix) :].decode(), value

    def close(self) -> None:
        """Closes the files."""
        self._db.close()
