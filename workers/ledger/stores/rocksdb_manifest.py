"""Check of RocksDB's list of files (MANIFEST), because RocksDB does not notice if the end of that list is lost.

If the list is truncated, or its last entries are damaged, RocksDB takes the entries before for the complete list. It then lacks
rows that were moved from its log into files, but has later rows that are still in the log: an undetected gap. Therefore length
and checksum of the list are written with every batch, and compared when the store is opened.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Final

#: The list consists of blocks of records. Each record begins with a checksum (4 bytes), a length (2) and a type (1).
_BLOCK: Final = 32768
_HEADER: Final = 7
_RECYCLED: Final = (5, 6, 7, 8)


class FileList:
    """List of files of the database in ``folder``. Construct it before the database is opened, as opening begins a new list."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before, self._content = self._read(0)
        self._name, self._size, self._crc32 = "", 0, 0
        # Inode and time of CURRENT and size of the list at the last read.
        self._seen: tuple[int, ...] | None = None

    def extends(self, recorded: bytes) -> bool:
        """Return whether the list, as found, begins with the content in ``recorded``. True for a list of another name."""
        if not recorded:
            return True
        name, size, crc32 = recorded.decode().split()
        known = self._content[: int(size)]
        return name != self._before or (len(known) == int(size) and zlib.crc32(known) == int(crc32))

    def can_be_read(self) -> bool:
        """Return whether RocksDB can finish reading the list: it loops forever at a record type that no valid list has."""
        at = 0
        while at + _HEADER <= len(self._content):
            left = _BLOCK - at % _BLOCK
            if left < _HEADER:
                at += left
                continue
            if self._content[at + 6] in _RECYCLED:
                return False
            at += _HEADER + int.from_bytes(self._content[at + 4 : at + 6], "little")
        return True

    def state(self) -> bytes:
        """Return name, length and CRC-32 of the current list; empty if there is none.

        Reads only new content: the method is called with every batch, and the list rarely changes.
        """
        seen = self._look()
        if seen is None or seen != self._seen:
            self._read_on()
            self._seen = seen  # the state before the read, because the list may have grown since
        return f"{self._name} {self._size} {self._crc32}".encode() if self._name else b""

    def _read_on(self) -> None:
        name, new = self._read(self._size)
        if name != self._name:
            self._name, self._size, self._crc32 = name, 0, 0
            name, new = self._read(0)
        self._size, self._crc32 = self._size + len(new), zlib.crc32(new, self._crc32)

    def _look(self) -> tuple[int, ...] | None:
        """Return a value that changes when the list is replaced or grows; None if there is no list."""
        if not self._name:
            return None
        try:
            current, files = (self._folder / "CURRENT").stat(), (self._folder / self._name).stat()
        except OSError:
            return None
        return current.st_ino, current.st_mtime_ns, files.st_size

    def _read(self, start: int) -> tuple[str, bytes]:
        """Return the name of the list and its content from ``start`` on."""
        try:
            name = (self._folder / "CURRENT").read_text("ascii").strip()
            with (self._folder / name).open("rb") as file:
                file.seek(start)
                return name, file.read()
        except (OSError, ValueError):
            return "", b""
