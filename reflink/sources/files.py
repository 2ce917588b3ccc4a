"""Open the files of a source, and read lines from them, in bounded memory."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

import zstandard

from reflink.errors import BadRecord, DamagedFile

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_XZ: Final = b"\xfd7zXZ\x00"
#: Maximum size of a record in bytes; the longest real records, with thousands of authors, have about 10 MB.
MAX_RECORD: Final = 32 << 20
#: Exceptions of decompressing a damaged file.
_DAMAGED: Final = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zstandard.ZstdError)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that is plain or compressed (gzip, zstandard, xz; told by its first bytes), and give its content.

    Raises OSError, and DamagedFile in place of the errors of the decompressors.
    """
    with path.open("rb") as stored:
        magic = stored.read(6)
        stored.seek(0)
        content: IO[bytes] = stored
        if magic.startswith(_GZIP):
            content = cast("IO[bytes]", gzip.GzipFile(fileobj=stored))
        elif magic.startswith(_ZSTD):
            content = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True))
        elif magic.startswith(_XZ):
            content = cast("IO[bytes]", lzma.open(stored))  # noqa: SIM115 - closed with the stored file
        try:
            yield content
        except _DAMAGED as error:
            raise DamagedFile(f"{path}: truncated or damaged: {error}: get the file again") from None


def lines(content: IO[bytes], name: str, limit: int = MAX_RECORD) -> Iterator[tuple[int, bytes] | BadRecord]:
    """Yield number (from 1) and bytes of each line that is not empty; a BadRecord in place of a line longer than ``limit``."""
    number = 0
    while line := content.readline(limit + 1):
        number += 1
        if len(line) > limit and not line.endswith(b"\n"):
            while (rest := content.readline(limit)) and not rest.endswith(b"\n"):
                pass
            yield BadRecord(f"{name}:{number}: longer than {limit} bytes")
        elif not line.isspace():
            yield number, line
