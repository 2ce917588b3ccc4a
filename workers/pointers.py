"""Reading a file that somebody else has named: beneath a folder, a regular one, and no more of it than was said."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePath
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
#: Without waiting: who opens a pipe would wait for somebody to write to it.
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def read_beneath(root: Path, path: PurePath, size: int) -> bytes | None:
    """The file ``path`` (relative, without links) under ``root``; None when it is no regular file of ``size`` bytes.

    Links are not followed at any step, so that what is swapped for one after ``path`` was checked leads nowhere; and what is
    opened is what is measured and read. Raises OSError.
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
            # One more, so that a file that grows meanwhile is not taken for one that does not.
            return reader.read(size + 1)
    finally:
        os.close(file)
