"""Read the files of a tar archive as a stream: in one pass, and in bounded memory for any archive."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, cast

from reflink.errors import NotAPaper, ReflinkError, TooLarge
from reflink.storage.decompression import DAMAGED, Readable, decompressed

#: Maximum bytes of all headers of one member: names, links, extended attributes. Real headers take a few kilobytes.
_MAX_HEADERS: Final = 65_536
#: An archive may unpack to ``_FREE`` bytes plus ``_MAX_RATIO`` times its own size. XML compresses to a tenth or a twentieth.
_FREE: Final = 2**28
_MAX_RATIO: Final = 200
_CHUNK: Final = 65_536

#: Exceptions of tarfile and the decoders on bad input, except OSError. Not all that tarfile raises are a TarError.
_BAD: Final[tuple[type[Exception], ...]] = (
    *DAMAGED,
    tarfile.TarError,
    ValueError,
    LookupError,
    ArithmeticError,
    RecursionError,
)


class Archive:
    """A tar archive, plain or compressed with gzip, bzip2, xz or zstandard.

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
        self._file: Readable = decompressed(file.peek(6), self._packed) or self._packed
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

    def __init__(self, file: Readable) -> None:
        self._file = file
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data
