"""Manage the snapshots of one catalog over time in one folder, with a symbolic link ``current`` to the published one.

1. A snapshot is written completely under a name with its time; then the link is replaced in one step.
2. A reader that has opened an older snapshot can continue to use it: its files are mapped and stay on disk until the last
   reader closes them.
3. Readers write nothing in the folder.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from reflink.catalog import snapshot
from reflink.catalog.manifest import MANIFEST
from reflink.errors import SnapshotError, UnusableSnapshot
from reflink.storage import durable

CURRENT: Final = "current"
#: With fewer, a reader could lose the previous snapshot while opening it.
LEAST_KEPT: Final = 2

_NAME: Final = r"\d{8}T\d{6}Z-\d{12,}"
#: Names of files and folders that a killed writer leaves.
_LEFT: Final = re.compile(rf"\.{_NAME}\.(new|new\.old|lock|gone)|\.{CURRENT}\.new")
#: Prefix of a reader's copies on its own disk, so that other folders are not mistaken for old copies.
_COPY_OF: Final = "copy-of-"


def name_of(as_of: datetime, offset: int) -> str:
    """Return the name of a snapshot: its time, so that names sort by time, and its offset."""
    return f"{as_of.astimezone(UTC):%Y%m%dT%H%M%SZ}-{offset:012d}"


def all_in(place: Path) -> list[Path]:
    """Return the snapshots in the folder, oldest first."""
    if not place.is_dir():
        return []
    return sorted(each for each in place.iterdir() if re.fullmatch(_NAME, each.name) and each.is_dir())


def current(place: Path) -> Path | None:
    """Return the snapshot that ``current`` points to; None if the link or its target does not exist."""
    link = place / CURRENT
    return link.resolve() if link.is_symlink() and link.exists() else None


def previous(folder: Path) -> Path:
    """Return the path of the snapshot before the one at ``folder``, which may not exist: the next older one beside it.

    For a missing ``current`` it is the newest snapshot. For a folder that is neither a link nor named by ``name_of``, it is the
    snapshot that a build replaced.
    """
    target = folder.resolve() if folder.is_symlink() else folder.absolute()
    named = re.fullmatch(_NAME, target.name) is not None
    if named or folder.name == CURRENT:
        older = [each for each in all_in(target.parent) if not named or each.name < target.name]
        if older:
            return older[-1]
    return snapshot.previous(folder)


def none_yet(folder: Path) -> bool:
    """Whether ``folder`` is a missing ``current`` in an existing folder without any snapshot, so that none was made yet."""
    place = folder.absolute().parent
    if folder.name != CURRENT or os.path.lexists(folder) or not place.is_dir():
        return False
    return not any((each / MANIFEST).exists() for each in (place, *place.iterdir()))


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Create the folder and lock it for this writer. The lock ends with the process, even after a kill.

    Removes the remains of a killed writer. Raises SnapshotError if another process writes there, if ``current`` is not a link,
    and if the file system has no locks or no symbolic links.
    """
    place.mkdir(parents=True, exist_ok=True)
    lock = os.open(place / ".lock", os.O_RDWR | os.O_CREAT, 0o644)  # never removed: two waiters could lock different files
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SnapshotError(f"{place}: another process is making a snapshot there") from None
        except OSError as error:
            raise SnapshotError(f"{place}: cannot be locked: {error.strerror}: choose a file system with locks") from None
        if os.path.lexists(link := place / CURRENT) and not link.is_symlink():
            raise SnapshotError(f"{link}: is not a link to a snapshot: move it away, or choose another folder")
        _clean(place)
        if not link.is_symlink():
            _try_a_link(place)
        yield
    finally:
        os.close(lock)


def publish(folder: Path, keep: int) -> None:
    """Point ``current``, beside ``folder``, to this complete snapshot; then remove older ones, so that ``keep`` remain with it.

    At least LEAST_KEPT remain.
    """
    place = folder.parent
    new = place / f".{CURRENT}.new"
    new.unlink(missing_ok=True)
    new.symlink_to(folder.name)  # relative: readers may mount the folder elsewhere
    new.replace(place / CURRENT)
    durable.sync(place)
    older = [each for each in all_in(place) if each.name < folder.name]
    for each in older[: max(0, len(older) - max(keep, LEAST_KEPT) + 1)]:
        _remove(each)


def copied(folder: Path, into: Path) -> Path:
    """Return a copy of the snapshot in ``into``; reuse an existing copy, and remove copies of other snapshots.

    For file systems on which a reader loses a deleted file that it has open, as on NFS. Raises UnusableSnapshot if the snapshot
    is missing or removed meanwhile, SnapshotError if the copy cannot be written.
    """
    copy = into / f"{_COPY_OF}{folder.resolve().name}"
    partial = into / f".{copy.name}.new"
    try:
        if (copy / MANIFEST).exists() and (copy / MANIFEST).read_bytes() == (folder / MANIFEST).read_bytes():
            return copy
        into.mkdir(parents=True, exist_ok=True)
        for each in into.iterdir():
            if each.name.removeprefix(".").startswith(_COPY_OF):
                shutil.rmtree(each)
        try:
            shutil.copytree(folder, partial)
            durable.sync_tree(partial)  # otherwise a crash could leave a copy without content that looks complete
            partial.rename(copy)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        kind = SnapshotError if (folder / MANIFEST).exists() else UnusableSnapshot
        reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error  # lists each failed file; the first suffices
        raise kind(f"{folder}: cannot be copied to {into}: {reason}") from None
    return copy


def _try_a_link(place: Path) -> None:
    """Raise SnapshotError if the file system has no symbolic links, before the first snapshot, which may take hours."""
    trial = place / f".{CURRENT}.new"
    try:
        trial.symlink_to(CURRENT)
    except OSError as error:
        what = f"no symbolic link can be made: {error.strerror}: choose a file system that has them"
        raise SnapshotError(f"{place}: {what}") from None
    trial.unlink()


def _clean(place: Path) -> None:
    for each in place.iterdir():
        if _LEFT.fullmatch(each.name):
            _delete(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    published = current(place)
    for each in all_in(place):
        if published is not None and published.parent == place.resolve() and each.name > published.name:
            _remove(each)  # its writer was killed before publishing it, or an operator went back to an older one


def _remove(folder: Path) -> None:
    """Rename the snapshot before deleting it, since a folder with a snapshot's name must be complete."""
    gone = folder.with_name(f".{folder.name}.gone")
    folder.rename(gone)
    _delete(gone)


def _delete(folder: Path) -> None:
    """Delete as far as possible. On NFS a file stays while a reader on this machine has it open; the next writer retries."""
    shutil.rmtree(folder, ignore_errors=True)
