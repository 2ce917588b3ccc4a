"""The newest value of every key, kept on disk so that memory does not grow with the number of links."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rocksdict import BlockBasedOptions, DBCompressionType, Options, Rdict, WriteBatch, WriteOptions

from reflink.errors import ExportFailed

#: Record address of a value: partition and offset, or file and line.
Place = tuple[int, int]

_PLACE: Final = struct.Struct(">iq")
#: Maximum rows and bytes of values per write batch.
_TOGETHER: Final = 2000
_TOGETHER_BYTES: Final = 8_000_000
_WRITE_BUFFER_BYTES: Final = 32 * 2**20
_BLOCK_BYTES: Final = 64 * 2**10
_FILE_BYTES: Final = 256 * 2**20
_OPEN_FILES: Final = 200


class Newest:
    """A temporary table in its own folder: key -> the last value put. A context manager.

    Its content does not survive a crash and need not. Every method raises ExportFailed if reading or writing fails.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._closed = folder, False
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
        options.set_compression_type(DBCompressionType.lz4())
        options.set_keep_log_file_num(1)
        # RocksDB keeps the index of every open file in memory, with one key per block. Large blocks keep an index small, and
        # large files and a limit of open files keep the number of indexes small.
        blocks = BlockBasedOptions()
        blocks.set_block_size(_BLOCK_BYTES)
        options.set_block_based_table_factory(blocks)
        options.set_target_file_size_base(_FILE_BYTES)
        options.set_max_open_files(_OPEN_FILES)
        self._unlogged = WriteOptions()
        self._unlogged.disable_wal = True
        try:
            self._db = Rdict(str(folder), options)
        except Exception as error:  # rocksdict raises no more specific class
            raise self._failed(error) from None
        self._begin()

    def _begin(self) -> None:
        self._batch, self._rows, self._bytes = WriteBatch(raw_mode=True), 0, 0

    def put(self, key: bytes, value: bytes | None, place: Place) -> None:
        """Set the value of the key; None removes the key."""
        if value is None:
            self._batch.delete(key)
        else:
            self._batch.put(key, _PLACE.pack(*place) + value)
            self._bytes += len(value)
        self._rows += 1
        if self._rows >= _TOGETHER or self._bytes >= _TOGETHER_BYTES:
            self._write()

    def get(self, key: bytes) -> bytes | None:
        """Return the last value of the key; None if it has none."""
        if self._rows:
            self._write()
        try:
            stored = self._db.get(key)
        except Exception as error:
            raise self._failed(error) from None
        return None if stored is None else bytes(stored[_PLACE.size :])

    def rows(self) -> Iterator[tuple[bytes, Place, bytes]]:
        """Yield (key, record address, value) of the last value of every key, in order of the keys' bytes."""
        self._write()
        rows = self._db.iter()
        rows.seek_to_first()
        while rows.valid():
            stored = rows.value()
            partition, offset = _PLACE.unpack_from(stored)
            yield rows.key(), (partition, offset), stored[_PLACE.size :]
            rows.next()
        try:
            rows.status()
        except Exception as error:
            raise self._failed(error) from None

    def _write(self) -> None:
        try:
            self._db.write(self._batch, self._unlogged)
        except Exception as error:
            raise self._failed(error) from None
        self._begin()

    def _failed(self, error: Exception) -> ExportFailed:
        why = " ".join(str(error).split())
        return ExportFailed(f"{self._folder}: {why}: is the disk full? It must hold all links, compressed, beside the export")

    def close(self) -> None:
        """Close the files of the table. Idempotent."""
        if not self._closed:
            self._closed = True
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
