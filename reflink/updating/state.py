"""The state of an updated catalog: one RocksDB in a folder, with the rows of `reflink.updating.layout`.

1. Each batch is written completely or not at all, so the process can be killed at any moment.
2. The state can always be rebuilt from the files of the sources, so damage is reported with this remedy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

import orjson
from rocksdict import BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, Options, Rdict, WriteBatch

from reflink.errors import StateFailed
from reflink.updating.layout import ABOUT

#: Version of the rows. A state of another version is refused.
FORMAT: Final = 1
_FORMAT: Final = ABOUT + b"format"
#: Memory of the cache of blocks, filters and indexes, and of each of the buffers of unwritten rows, in bytes.
_CACHE_BYTES: Final = 96 << 20
_BUFFER_BYTES: Final = 32 << 20
_FILTER_BITS: Final = 10


class State:
    """Rows of bytes in order of key. A context manager; one process at a time can open a folder.

    Every method raises StateFailed if the disk or the files fail.
    """

    def __init__(self, folder: Path) -> None:
        """Open the state in ``folder``, or begin one. Raises StateFailed."""
        self.folder = folder
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            self._db = Rdict(str(folder), _options())
        except Exception as error:
            self._fail(error)
        found = self.get(_FORMAT)
        if found is None:
            batch = self.batch()
            batch.put(_FORMAT, b"%d" % FORMAT)
            self.write(batch)
        elif found != b"%d" % FORMAT:
            self.close()
            raise StateFailed(f"{folder}: format {found.decode(errors='replace')}, not {FORMAT}: delete it and import again")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.close()
        except StateFailed:
            if kind is None:
                raise

    def close(self) -> None:
        """Close the database. What was written is kept."""
        try:
            self._db.close()
        except Exception as error:
            self._fail(error)

    def get(self, key: bytes) -> bytes | None:
        """Return the value of the row, or None."""
        try:
            value: bytes | None = self._db.get(key)
        except Exception as error:
            self._fail(error)
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the value of each row, or None."""
        try:
            values: list[bytes | None] = self._db.get(list(keys))
        except Exception as error:
            self._fail(error)
        return values

    def batch(self) -> WriteBatch:
        """Return an empty batch."""
        return WriteBatch(raw_mode=True)

    def write(self, batch: WriteBatch) -> None:
        """Write a batch atomically."""
        try:
            self._db.write(batch)
        except Exception as error:
            self._fail(error)

    def rows(self, prefix: bytes, after: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield keys without the prefix, and values, in order of key, of the rows with the prefix behind ``prefix + after``."""
        start = prefix + after
        try:
            for key, value in self._db.items(from_key=start):
                if not key.startswith(prefix):
                    return
                if not after or key != start:
                    yield key[len(prefix) :], value
        except Exception as error:
            self._fail(error)

    def fact(self, name: str, default: object = None) -> object:
        """Return a fact about the state, as JSON builtins."""
        value = self.get(ABOUT + name.encode())
        return default if value is None else orjson.loads(value)

    def set_fact(self, name: str, value: object, batch: WriteBatch | None = None) -> None:
        """Store a fact, in the batch if given."""
        own = self.batch() if batch is None else batch
        own.put(ABOUT + name.encode(), orjson.dumps(value))
        if batch is None:
            self.write(own)

    def sync(self) -> None:
        """Make everything written durable."""
        try:
            self._db.flush_wal(sync=True)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        text = str(error)
        remedy = "check the disk and the rights of the folder"
        if text.startswith("Corruption"):
            remedy = "delete the folder and import again"
        elif "While lock file" in text or "lock hold" in text:
            remedy = "another process uses it"
        raise StateFailed(f"{self.folder}: {text.splitlines()[0] if text else type(error).__name__}: {remedy}") from None


def _options() -> Options:
    blocks = BlockBasedOptions()
    blocks.set_bloom_filter(_FILTER_BITS, False)
    blocks.set_block_cache(Cache(_CACHE_BYTES))
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(blocks)
    options.set_write_buffer_size(_BUFFER_BYTES)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_keep_log_file_num(2)
    options.set_paranoid_checks(True)
    options.set_wal_recovery_mode(DBRecoveryMode.point_in_time())
    return options
