"""Safe reading of a file with an untrusted name: only a regular file, beneath a folder, up to its declared size."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePath
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
#: Non-blocking, because opening a pipe would wait for a writer.
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def read_beneath(root: Path, path: PurePath, size: int) -> bytes | None:
    """Return the file ``path`` (relative, without links) under ``root``; None if it is not a regular file of ``size`` bytes.

    No step follows links, so replacing a part of ``path`` by a link after the check has no effect. The size is read from the
    opened file. Raises OSError.
    """
    if not path.parts:
        return None
    folder = os.open(root, _FOLDER)
    try:
        for part in path.parts[:-1]:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        file = os.open(path.parts[-1], _FILE | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            return None
        with open(file, "rb", closefd=False) as reader:
            # One byte more, so that a file that has grown meanwhile is detected.
            return reader.read(size + 1)
    finally:
        os.close(file)
