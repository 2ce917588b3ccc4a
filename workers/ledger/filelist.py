"""RocksDB's list of its files (MANIFEST), watched: RocksDB does not notice when the end of that list is lost.

Whether it was cut off or its last entries are damaged, RocksDB takes what stands before for the whole. It then lacks rows that
were moved out of its log into files, and has later ones that are still in the log: a hole that nothing tells of. So length
and checksum of the list are written with every batch, and compared when the store is opened.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Final

#: Records lie in blocks; each begins with a checksum (4 bytes), a length (2) and a type.
_BLOCK: Final = 32768
_HEADER: Final = 7
_RECYCLED: Final = (5, 6, 7, 8)


class FileList:
    """The list of the database in ``folder``; made before that is opened, since opening begins another list."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before, self._content = self._read(0)
        self._name, self._size, self._crc32 = "", 0, 0
        # What told apart the files that were read last.
        self._seen: tuple[int, ...] | None = None

    def began_with(self, told: bytes) -> bool:
        """Whether the list, as it was found, still has what ``told`` said of it once. True of a list of another name."""
        if not told:
            return True
        name, size, crc32 = told.decode().split()
        known = self._content[: int(size)]
        return name != self._before or (len(known) == int(size) and zlib.crc32(known) == int(crc32))

    def can_be_read(self) -> bool:
        """Whether RocksDB comes to an end reading it: it goes round for ever at a type that no list has."""
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

    def told(self) -> bytes:
        """Name, length and CRC-32 of the list as it is; empty when there is none. Reads what is new only.

        It is asked with every batch, and seldom is anything new.
        """
        seen = self._look()
        if seen is None or seen != self._seen:
            self._read_on()
            self._seen = seen  # not as it is now: it may have grown since it was read
        return f"{self._name} {self._size} {self._crc32}".encode() if self._name else b""

    def _read_on(self) -> None:
        name, new = self._read(self._size)
        if name != self._name:
            self._name, self._size, self._crc32 = name, 0, 0
            name, new = self._read(0)
        self._size, self._crc32 = self._size + len(new), zlib.crc32(new, self._crc32)

    def _look(self) -> tuple[int, ...] | None:
        """Another when the list is another, or has grown; None without one."""
        if not self._name:
            return None
        try:
            current, files = (self._folder / "CURRENT").stat(), (self._folder / self._name).stat()
        except OSError:
            return None
        return current.st_ino, current.st_mtime_ns, files.st_size

    def _read(self, start: int) -> tuple[str, bytes]:
        """Name of the list, and its content from ``start`` on."""
        try:
            name = (self._folder / "CURRENT").read_text("ascii").strip()
            with (self._folder / name).open("rb") as file:
                file.seek(start)
                return name, file.read()
        except (OSError, ValueError):
            return "", b""
