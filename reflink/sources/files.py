"""Find and open the files of a source, and read lines from them, in bounded memory."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

from reflink.errors import BadDump, BadRecord, DamagedFile
from reflink.sources.source import SourceFile
from reflink.storage.decompression import DAMAGED, decompressed

#: Maximum size of a record in bytes; the longest real records, with thousands of authors, have about 10 MB.
MAX_RECORD: Final = 32 << 20
#: Endings of compressed files.
COMPRESSED: Final = (".gz", ".bz2", ".xz", ".zst")
_MAGIC: Final = 6
_BUFFER: Final = 1 << 18
_DIGITS: Final = re.compile(r"(\d+)")
_MILLISECONDS: Final = 1_000_000


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file that is plain or compressed (gzip, bzip2, xz, zstandard; told by its first bytes), and give its content.

    Raises OSError, and DamagedFile in place of the errors of the decompressors.
    """
    with open(path, "rb", buffering=_BUFFER) as stored:
        file = cast("io.BufferedReader", stored)
        try:
            yield decompressed(file.peek(_MAGIC)[:_MAGIC], file) or file
        except DAMAGED as error:
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


def found(paths: Sequence[Path], is_wanted: Callable[[str], bool], what: str) -> list[SourceFile]:
    """Return the files among the paths, and those in folders whose name is wanted, in natural order: 2 before 10.

    The version of a file is its time of modification in milliseconds. Raises BadDump, with ``what`` the source has, if a path
    is missing or if there is no file.
    """
    files: list[SourceFile] = []
    for path in paths:
        if path.is_dir():
            inside = [each for each in path.rglob("*") if is_wanted(each.name) and each.is_file()]
            files += [_file(each, each.relative_to(path).as_posix()) for each in sorted(inside, key=natural)]
        elif path.is_file():
            files.append(_file(path, path.name))
        else:
            raise BadDump(f"{path}: there is no such file or folder")
    if not files:
        raise BadDump(f"{', '.join(map(str, paths))}: no file of {what}")
    return files


def natural(path: Path) -> list[tuple[str, int]]:
    """Return a key that orders paths by the numbers in them."""
    parts = _DIGITS.split(path.as_posix())
    return [(text, int(number)) for text, number in zip(parts[::2], [*parts[1::2], "0"], strict=True)]


def _file(path: Path, name: str) -> SourceFile:
    return SourceFile(path, name, path.stat().st_mtime_ns // _MILLISECONDS)
