"""Open the files of a folder such that no link leads out of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from reflink.errors import NotAPaper, ReflinkError

#: Maximum depth of nested folders; each level holds an open file.
_MAX_DEPTH: Final = 100
#: O_NONBLOCK: opening a named pipe would otherwise block until a writer opens it.
_OPEN: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def open_files(
    root: Path, is_wanted: Callable[[str], bool], *, follow_links: bool
) -> Iterator[tuple[Path, BinaryIO | ReflinkError]]:
    """Yield the wanted regular files of ``root`` and its subfolders, ordered by path. Each is open until the next is requested.

    A file or folder that cannot be opened, or is a link, yields an error instead. Each is opened relative to its parent folder
    and, without ``follow_links``, never through a link: so one that is replaced by a link during the walk is refused too. With
    ``follow_links`` each folder is read once, even if several links lead to it. Raises OSError if ``root``, which may be a
    link, cannot be opened.
    """
    yield from _Walk(is_wanted, follow_links).folder(os.open(root, _OPEN | os.O_DIRECTORY), root, 0)


class _Walk:
    def __init__(self, is_wanted: Callable[[str], bool], follow_links: bool) -> None:
        self._is_wanted, self._follow = is_wanted, follow_links
        self._flags = _OPEN if follow_links else _OPEN | os.O_NOFOLLOW
        #: Device and inode of the folders read so far, because links may form cycles.
        self._seen: set[tuple[int, int]] = set()

    def folder(self, folder: int, path: Path, depth: int) -> Iterator[tuple[Path, BinaryIO | ReflinkError]]:
        """Walk one open folder and close it afterwards."""
        try:
            found = os.fstat(folder)
            if (found.st_dev, found.st_ino) in self._seen:
                return
            self._seen.add((found.st_dev, found.st_ino))
            for name in sorted(os.listdir(folder)):
                inner = path / name
                try:
                    yield from self._entry(folder, name, inner, depth)
                except OSError as error:
                    yield inner, NotAPaper(f"{inner}: cannot be read: {error.strerror}")
        finally:
            os.close(folder)

    def _entry(self, folder: int, name: str, path: Path, depth: int) -> Iterator[tuple[Path, BinaryIO | ReflinkError]]:
        wanted = self._is_wanted(name)
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            if not self._follow:
                if wanted or _is_folder(folder, name):
                    yield path, NotAPaper(f"{path}: a symbolic link, which only --follow-links follows")
                return
            mode = os.stat(name, dir_fd=folder).st_mode
        if stat.S_ISDIR(mode):
            if depth == _MAX_DEPTH:
                yield path, NotAPaper(f"{path}: more than {_MAX_DEPTH} folders deep")
            else:
                yield from self.folder(os.open(name, self._flags | os.O_DIRECTORY, dir_fd=folder), path, depth + 1)
        elif wanted:
            with open(os.open(name, self._flags, dir_fd=folder), "rb") as file:
                regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                yield path, file if regular else NotAPaper(f"{path}: not a regular file")


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder).st_mode)
    except OSError:
        return False
