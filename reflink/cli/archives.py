"""Read the files of a tar archive as a stream: in one pass, and in bounded memory for any archive."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO, Final, cast

from reflink.errors import NotAPaper, ReflinkError, TooLarge

#: Maximum bytes of all headers of one member: names, links, extended attributes. Real headers take a few kilobytes.
_MAX_HEADERS: Final = 65_536
#: An archive may unpack to ``_FREE`` bytes plus ``_MAX_RATIO`` times its own size. XML compresses to a tenth or a twentieth.
_FREE: Final = 2**28
_MAX_RATIO: Final = 200
#: Memory limit of an xz decoder in bytes; `xz -9` needs 65 MiB.
_XZ_MEMORY: Final = 2**27
_CHUNK: Final = 65_536

#: Exceptions of tarfile and the decoders on bad input, except OSError. Not all that tarfile raises are a TarError.
_BAD: Final = (
    tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError, LookupError, ArithmeticError, RecursionError,
)  # fmt: skip


class Archive:
    """A tar archive, plain or compressed with gzip, bzip2 or xz.

    Raises TooLarge if the headers of a member or the unpacked size exceed the limits above, and NotAPaper if the archive is
    damaged.
    """

    def __init__(self, name: str, file: io.BufferedReader) -> None:
        self._name = name
        self._stream = _Stream(name, file)

    def files(self, is_wanted: Callable[[str], bool], limit: int) -> Iterator[tuple[str, bytes | ReflinkError]]:
        """Yield name and content, at most ``limit`` bytes, of each wanted regular file, in the order of the archive.

        A link or special file yields an error instead: a link's target is elsewhere in the archive, which is read in one pass.
        """
        try:
            archive = tarfile.TarFile(fileobj=cast(IO[bytes], self._stream))
            while (member := self._next(archive)) is not None:
                if is_wanted(member.name) and not member.isdir():
                    name = f"{self._name}:{member.name}"
                    if not member.isfile() or member.issparse():
                        what = "a link" if member.islnk() or member.issym() else "not a regular file"
                        yield name, NotAPaper(f"{name}: {what}, which is not read from an archive")
                    else:
                        yield name, self._stream.content(min(member.size, limit))
        except _BAD as error:
            raise NotAPaper(f"{self._name}: cannot be read: {error}") from None

    def add(self, size: int) -> None:
        """Add the unpacked size of a compressed member to the archive's unpacked size."""
        self._stream.more += size

    def _next(self, archive: Any) -> tarfile.TarInfo | None:
        self._stream.headers_left = _MAX_HEADERS
        member: tarfile.TarInfo | None = archive.next()
        # tarfile would keep both until the archive is closed. Global headers can be dropped: in practice they are comments.
        archive.members.clear()
        archive.pax_headers.clear()
        if member is None and self._stream.block.strip(b"\0"):
            raise tarfile.ReadError("damaged: what follows is not a header")
        return member


class _Stream:
    """The unpacked stream for tarfile: forward only, with limits on the headers of a member and on the total size."""

    def __init__(self, name: str, file: io.BufferedReader) -> None:
        self._name = name
        self._packed = _Counted(file)
        self._file = _unpacked(file.peek(6), self._packed)
        self._position = 0
        self.headers_left = _MAX_HEADERS
        self.more = 0
        #: The last block that tarfile has read.
        self.block = b""

    def read(self, size: int) -> bytes:
        """Return the next bytes of a header. Raises TooLarge if the member's headers exceed their limit."""
        if size > self.headers_left:
            raise TooLarge(f"{self._name}: a member's headers take more than {_MAX_HEADERS} bytes")
        self.headers_left -= size
        self.block = self.content(size, whole=False)
        return self.block

    def content(self, size: int, *, whole: bool = True) -> bytes:
        """Return the next ``size`` bytes; with ``whole`` fewer raise ReadError.

        Raises TooLarge if the archive unpacks to more than its limit.
        """
        if size < 0:
            raise tarfile.ReadError("a negative size")
        data = self._file.read(size)
        self._position += len(data)
        if whole and len(data) < size:
            raise tarfile.ReadError("unexpected end of data")
        if self._position + self.more > _FREE + _MAX_RATIO * self._packed.count:
            raise TooLarge(f"{self._name}: unpacks to more than {_MAX_RATIO} times its size")
        return data

    def seek(self, position: int) -> None:
        """Skip forward to ``position``. Raises ReadError for a position behind the current one."""
        if position < self._position:
            raise tarfile.ReadError("a negative size")
        while (left := position - self._position) and self.content(min(left, _CHUNK), whole=False):
            pass

    def tell(self) -> int:
        """Return the number of bytes read or skipped."""
        return self._position


class _Counted:
    """A file that counts the bytes read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data


def _unpacked(begin: bytes, file: _Counted) -> BinaryIO:
    if begin.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=cast(IO[bytes], file)))
    if begin.startswith(b"BZh"):
        return cast(BinaryIO, io.BufferedReader(_Unpacking(file, bz2.BZ2Decompressor)))
    if begin.startswith((b"\xfd7zXZ", b"]\0\0\x80")):
        return cast(BinaryIO, io.BufferedReader(_Unpacking(file, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY))))
    return cast(BinaryIO, file)


class _Unpacking(io.RawIOBase):
    """Decompresses bzip2 or xz, including concatenated streams.

    The file classes of the standard library would give xz as much memory as its header demands.
    """

    def __init__(self, file: _Counted, new: Callable[[], Any]) -> None:
        self._file, self._new, self._decoder = file, new, new()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            packed = b""
            if self._decoder.eof:
                packed = self._decoder.unused_data.lstrip(b"\0")  # xz pads with zeros
                while not packed:
                    if not (packed := self._file.read(_CHUNK)):
                        return 0
                    packed = packed.lstrip(b"\0")
                self._decoder = self._new()
            elif self._decoder.needs_input and not (packed := self._file.read(_CHUNK)):
                raise EOFError("it ends early")
            data = self._decoder.decompress(packed, max_length=len(buffer))
        buffer[: len(data)] = data
        return len(data)
