"""Compare embedded stores for the ledger: LMDB, SQLite (in the standard library) and RocksDB (if `rocksdict` is installed).

    python -m benchmarks.ledger.embedded_stores [--rows 200000] [--rounds 3]

The ledger's work: for each batch of 512 outcomes, read the row of each (half of them exist), then write all in one durable
transaction; values of 1 KB. Measured in turn on an empty store that grows to --rows, with the folder's size at the end.
"""

from __future__ import annotations

import importlib.util
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import lmdb

from benchmarks import harness
from benchmarks.machine import describe, disk_bytes

BATCH = 512


class Store(Protocol):
    """The interface of a compared store."""

    def get(self, key: bytes) -> bytes | None: ...
    def write(self, rows: Sequence[tuple[bytes, bytes]]) -> None: ...


class Lmdb:
    """LMDB; each transaction is synced, except for the meta page."""

    def __init__(self, folder: Path) -> None:
        self.env = lmdb.open(str(folder), map_size=2**34, metasync=False)

    def get(self, key: bytes) -> bytes | None:
        with self.env.begin() as transaction:
            return transaction.get(key)

    def write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        with self.env.begin(write=True) as transaction:
            for key, value in rows:
                transaction.put(key, value)


class Sqlite:
    """SQLite with a write-ahead log that is synced at every commit."""

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "store.db", isolation_level=None)
        self.connection.execute("pragma journal_mode=wal")
        self.connection.execute("pragma synchronous=full")
        self.connection.execute("create table rows (key blob primary key, value blob) without rowid")

    def get(self, key: bytes) -> bytes | None:
        row = self.connection.execute("select value from rows where key = ?", (key,)).fetchone()
        return row and row[0]

    def write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        self.connection.execute("begin")
        self.connection.executemany("insert or replace into rows values (?, ?)", rows)
        self.connection.execute("commit")


class Rocks:
    """RocksDB; its write-ahead log is synced, or left to the system: a power failure may then lose the tail."""

    def __init__(self, folder: Path, sync: bool) -> None:
        import rocksdict

        self.rocksdict: Any = rocksdict
        self.db = rocksdict.Rdict(str(folder), rocksdict.Options(raw_mode=True))
        self.options = rocksdict.WriteOptions()
        self.options.sync = sync

    def get(self, key: bytes) -> bytes | None:
        return self.db.get(key)

    def write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        batch = self.rocksdict.WriteBatch(raw_mode=True)
        for key, value in rows:
            batch.put(key, value)
        self.db.write(batch, self.options)


def run(make: Callable[[Path], Store], rows: int) -> tuple[float, float]:
    """Return rows per second, and megabytes on disk."""
    choice = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        store = make(Path(folder))
        started, written = time.perf_counter(), 0
        while written < rows:
            keys = [b"doi:10.5555/paper.%08d#B%d.1" % (choice.randrange(max(1, 2 * written)) // 40, n) for n in range(BATCH)]
            for key in keys:
                store.get(key)
            store.write([(key, choice.randbytes(1000)) for key in keys])
            written += BATCH
        seconds = time.perf_counter() - started
        size = disk_bytes(Path(folder)) / 1e6
    return rows / seconds, size


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__, figures=False)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args(argv)
    stores: dict[str, Callable[[Path], Store]] = {"lmdb": Lmdb, "sqlite": Sqlite}
    if importlib.util.find_spec("rocksdict"):
        stores["rocksdb, synced"] = lambda folder: Rocks(folder, True)
        stores["rocksdb"] = lambda folder: Rocks(folder, False)
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in stores}
    for _ in range(arguments.rounds):
        for name, make in stores.items():
            figures[name].append(run(make, arguments.rows))
    print(describe())
    print(f"{arguments.rows} rows of 1 KB in batches of {BATCH}, medians of {arguments.rounds} rounds\n")
    for name, values in figures.items():
        rates, sizes = zip(*values, strict=True)
        print(f"{name:16} {statistics.median(rates):10,.0f} rows/s {statistics.median(sizes):8,.0f} MB on disk")
    return 0


if __name__ == "__main__":
    sys.exit(main())
