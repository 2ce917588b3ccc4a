"""Write files that are complete on disk or absent, even if the process or the machine stops while writing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, partial: Path | None = None) -> Iterator[BinaryIO]:
    """Yield a new file; on exit flush it to disk and rename it to ``path``, replacing a file of that name.

    ``partial``: its name until then, by default ``path`` with ``.partial`` appended. The partial file remains after an error.
    The new name is on disk only after ``sync`` of the folder. Raises OSError.
    """
    with (partial or path.with_name(f"{path.name}.partial")).open("wb") as file:
        yield file
        flush(file)
    os.replace(file.name, path)


def write(path: Path, content: bytes, partial: Path | None = None) -> None:
    """Replace ``path`` by a file with this content; content and name are on disk on return. ``partial``: as for ``replacing``.

    Raises OSError.
    """
    with replacing(path, partial) as file:
        file.write(content)
    sync(path.parent)


def flush(file: BinaryIO) -> None:
    """Flush an open file to disk. Raises OSError."""
    file.flush()
    os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Flush all files in a folder and its subfolders to disk, and their names. Raises OSError."""
    for path in (*folder.rglob("*"), folder):
        sync(path)
