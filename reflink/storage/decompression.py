"""Read a compressed file as a stream, in bounded memory and up to the byte at which it is damaged."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

import zstandard
from isal import igzip_lib

#: Exceptions of decompressing a truncated or damaged file. bz2 raises OSError, which `Decompressed` turns into EOFError.
DAMAGED: Final[tuple[type[Exception], ...]] = (
    EOFError, lzma.LZMAError, zstandard.ZstdError, cast("type[Exception]", igzip_lib.IsalError)
)  # fmt: skip
_GZIP: Final = b"\x1f\x8b"
_BZIP2: Final = b"BZh"
_XZ: Final = (b"\xfd7zXZ", b"]\0\0\x80")
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
#: Memory limit of an xz decoder in bytes; `xz -9` needs 65 MiB.
_XZ_MEMORY: Final = 2**27
_CHUNK: Final = 65_536
_BUFFER: Final = 1 << 18
#: Compressed bytes that a zstandard decoder gets at once: it cannot limit its output, and a byte becomes 32 KiB at most.
_ZSTD_CHUNK: Final = 4096


class Readable(Protocol):
    """A file of which bytes are read."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; none at the end."""


class Decoder(Protocol):
    """A decoder of one stream, as of bz2, lzma and isal."""

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""

    @property
    def unused_data(self) -> bytes:
        """What follows the stream in the data given so far."""

    @property
    def needs_input(self) -> bool:
        """Whether the decoder needs more data before it can return more."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Add data, and return decompressed bytes, at most ``max_length`` if the format permits a limit."""


def decompressed(begin: bytes, file: Readable) -> io.BufferedReader | None:
    """Return the content of a file that begins with ``begin``, or None if it is not compressed.

    The reader raises one of the exceptions ``DAMAGED`` behind the last byte that can be decompressed.
    """
    if begin.startswith(_GZIP):
        raw = Decompressed(file, lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP))
    elif begin.startswith(_BZIP2):
        raw = Decompressed(file, bz2.BZ2Decompressor)
    elif begin.startswith(_XZ):
        raw = Decompressed(file, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY))
    elif begin.startswith(_ZSTD):
        raw = Decompressed(file, _Zstandard, _ZSTD_CHUNK)
    else:
        return None
    return io.BufferedReader(raw, _BUFFER)


class Decompressed(io.RawIOBase):
    """The content of concatenated compressed streams.

    The file classes of the standard library would give xz as much memory as its header demands, and the reader of zstandard
    takes a truncated file for a whole one.
    """

    def __init__(self, file: Readable, new: Callable[[], Decoder], chunk: int = _CHUNK) -> None:
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)  # read would lose bytes before a fault
        self._new, self._decoder, self._chunk = new, new(), chunk
        self._rest = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as one step of the decoder permits."""
        view = memoryview(buffer)
        data = self._rest or self._next(len(view))
        view[: len(data)] = data[: len(view)]
        self._rest = data[len(view) :]
        return min(len(data), len(view))

    def _next(self, size: int) -> bytes:
        data = b""
        while not data:
            packed = b""
            if self._decoder.eof:
                packed = self._decoder.unused_data.lstrip(b"\0")  # xz pads with zeros
                while not packed:
                    if not (packed := self._read(self._chunk)):
                        return b""
                    packed = packed.lstrip(b"\0")
                self._decoder = self._new()
            elif self._decoder.needs_input and not (packed := self._read(self._chunk)):
                raise EOFError("it ends early")
            try:
                data = self._decoder.decompress(packed, max_length=size)
            except OSError as error:  # of bz2
                raise EOFError(str(error)) from None
        return data


class _Zstandard:
    """zstandard's decoder of a frame, with the interface of the others."""

    needs_input = True

    def __init__(self) -> None:
        self._decoder = zstandard.ZstdDecompressor().decompressobj()

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._decoder.decompress(data)
