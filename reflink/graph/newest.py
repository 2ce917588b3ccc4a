"""The newest value of every key, on disk: so memory does not grow with the number of links."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rocksdict import BlockBasedOptions, DBCompressionType, Options, Rdict, WriteBatch, WriteOptions

from reflink.errors import ExportFailed

#: Where a value was read: partition and offset, or file and line.
Place = tuple[int, int]

_PLACE: Final = struct.Struct(">iq")
#: Rows, or bytes of values, that are written at once.
_TOGETHER: Final = 2000
_TOGETHER_BYTES: Final = 8_000_000
_WRITE_BUFFER_BYTES: Final = 32 * 2**20
_BLOCK_BYTES: Final = 64 * 2**10
_FILE_BYTES: Final = 256 * 2**20
_OPEN_FILES: Final = 200


class Newest:
    """A table in a folder of its own, key -> the value put last, which is thrown away after use. A context manager.

    Nothing of it survives a crash, and nothing needs to. Every method raises ExportFailed when the disk refuses.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._closed = folder, False
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
        options.set_compression_type(DBCompressionType.lz4())
        options.set_keep_log_file_num(1)
        # Of every open file the index is in memory, so neither may be many: a key of each block, blocks of each file.
        blocks = BlockBasedOptions()
        blocks.set_block_size(_BLOCK_BYTES)
        options.set_block_based_table_factory(blocks)
        options.set_target_file_size_base(_FILE_BYTES)
        options.set_max_open_files(_OPEN_FILES)
        self._unlogged = WriteOptions()
        self._unlogged.disable_wal = True
        try:
            self._db = Rdict(str(folder), options)
        except Exception as error:  # rocksdict raises nothing more precise
            raise self._failed(error) from None
        self._begin()

    def _begin(self) -> None:
        self._batch, self._rows, self._bytes = WriteBatch(raw_mode=True), 0, 0

    def put(self, key: bytes, value: bytes | None, place: Place) -> None:
        """Replaces what is there under the key; None takes it away."""
        if value is None:
            self._batch.delete(key)
        else:
            self._batch.put(key, _PLACE.pack(*place) + value)
            self._bytes += len(value)
        self._rows += 1
        if self._rows >= _TOGETHER or self._bytes >= _TOGETHER_BYTES:
            self._write()

    def rows(self) -> Iterator[tuple[bytes, Place, bytes]]:
        """Every key with the place and the value that was put last, in order of the keys' bytes."""
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
        said = " ".join(str(error).split())
        return ExportFailed(f"{self._folder}: {said}: is the disk full? It must hold all links, compressed, beside the export")

    def close(self) -> None:
        """Lets go of its files. Doing it twice does no harm."""
        if not self._closed:
            self._closed = True
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
