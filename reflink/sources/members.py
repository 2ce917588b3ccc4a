"""Read the files of a tar archive as streams, in one pass and in bounded memory; another file is read as it is."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, TypeVar, cast

from reflink.errors import BadRecord, DamagedFile
from reflink.sources.files import opened
from reflink.sources.source import SourceFile
from reflink.storage.decompression import DAMAGED, decompressed

_T = TypeVar("_T")
Reader = Callable[[IO[bytes], str], Iterator[_T | BadRecord]]
_BLOCK: Final = 512
#: Position of the word that every tar archive of this century has in its first block.
_USTAR: Final = slice(257, 262)
#: Maximum bytes that are read at once. A header is read at once, and takes a few kilobytes.
_MAX_READ: Final = 1 << 20
_MAGIC: Final = 6
_BUFFER: Final = 1 << 18
#: Exceptions of tarfile on bad input. Not all that it raises are a TarError.
_BAD: Final[tuple[type[Exception], ...]] = (tarfile.TarError, ValueError, LookupError, ArithmeticError, RecursionError)
_DAMAGED_MEMBER: Final[tuple[type[Exception], ...]] = (*DAMAGED, DamagedFile)


def read_members(file: SourceFile, is_wanted: Callable[[str], bool], read: Reader[_T]) -> Iterator[_T | BadRecord]:
    """Yield what ``read`` yields of the content and name of the file, or of each wanted member if it is a tar archive.

    Files and members may be compressed. A member that is damaged, or not a regular file, costs a BadRecord. Raises OSError, and
    DamagedFile behind what could be read of a damaged file.
    """
    with opened(file.path) as content:
        if content.peek(_BLOCK)[_USTAR] != b"ustar":
            yield from read(content, file.name)
            return
        stream = _Forward(content)
        for name, member in _members(file, stream, is_wanted):
            if not member.isfile() or member.issparse():
                yield BadRecord(f"{name}: not a regular file, which is not read from an archive")
                continue
            stored = io.BufferedReader(_Member(stream, member.size), _BUFFER)
            try:
                yield from read(decompressed(stored.peek(_MAGIC)[:_MAGIC], stored) or stored, name)
            except _DAMAGED_MEMBER as error:
                yield BadRecord(f"{name}: truncated or damaged: {error}")


def _members(file: SourceFile, stream: _Forward, is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, tarfile.TarInfo]]:
    try:
        archive: Any = tarfile.TarFile(fileobj=cast("IO[bytes]", stream))
        while (member := archive.next()) is not None:
            archive.members.clear()  # tarfile would keep them until the archive is closed
            if not member.isdir() and is_wanted(member.name.rpartition("/")[2]):
                yield f"{file.name}:{member.name}", member
    except _BAD as error:
        raise DamagedFile(f"{file.path}: truncated or damaged: {error}: get the file again") from None


class _Forward:
    """The stream of an archive for tarfile, which reads headers and skips contents: forward only."""

    def __init__(self, content: io.BufferedReader) -> None:
        self._content = content
        self._at = 0

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _MAX_READ:
            raise tarfile.ReadError(f"a header of {size} bytes")
        data = self._content.read(size)
        self._at += len(data)
        return data

    def some(self, size: int) -> bytes:
        """Return at least one byte unless the file ends, so that a fault costs only what is behind it."""
        data = self._content.read1(size)
        self._at += len(data)
        return data

    def seek(self, position: int) -> None:
        if position < self._at:
            raise tarfile.ReadError("a negative size")
        while (left := position - self._at) and self.read(min(left, _MAX_READ)):
            pass

    def tell(self) -> int:
        return self._at


class _Member(io.RawIOBase):
    """The bytes of one member. They end early in a truncated archive, which tarfile finds when it seeks the next member."""

    def __init__(self, stream: _Forward, size: int) -> None:
        self._stream, self._left = stream, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        data = self._stream.some(min(self._left, len(view)))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)
