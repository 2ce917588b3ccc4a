"""Snapshots of one catalog over time, side by side in one folder, and ``current``, a link to the one that counts.

A snapshot is written whole under the name of its moment; then the link is replaced in one step. Whoever has opened an older
one keeps it: its files are mapped, and stay on the disk until the last reader is gone. Readers write nothing here.
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

CURRENT: Final = "current"
#: With fewer, who is about to open the former one may lose it.
LEAST_KEPT: Final = 2

_NAME: Final = r"\d{8}T\d{6}Z-\d{12,}"
#: What a writer that was killed leaves.
_LEFT: Final = re.compile(rf"\.{_NAME}\.(new|new\.old|lock|gone)|\.{CURRENT}\.new")
#: What a reader copies to a disk of its own is named so, lest anything else be taken for an old copy.
_COPY_OF: Final = "copy-of-"


def name_of(as_of: datetime, offset: int) -> str:
    """The name of a snapshot: its moment, so that names sort as they came, and the offset it stands at."""
    return f"{as_of.astimezone(UTC):%Y%m%dT%H%M%SZ}-{offset:012d}"


def all_in(place: Path) -> list[Path]:
    """The snapshots in the folder, oldest first."""
    if not place.is_dir():
        return []
    return sorted(each for each in place.iterdir() if re.fullmatch(_NAME, each.name) and each.is_dir())


def current(place: Path) -> Path | None:
    """The snapshot that ``current`` points to; None when it does not exist or points to nothing."""
    link = place / CURRENT
    return link.resolve() if link.is_symlink() and link.exists() else None


def previous(folder: Path) -> Path:
    """Where the snapshot before the one at ``folder`` is, if it is there: its next older neighbour.

    Of a ``current`` that is not there, the newest. Of a folder that is no link and has no name of ours, what a build replaced.
    """
    target = folder.resolve() if folder.is_symlink() else folder.absolute()
    named = re.fullmatch(_NAME, target.name) is not None
    if named or folder.name == CURRENT:
        older = [each for each in all_in(target.parent) if not named or each.name < target.name]
        if older:
            return older[-1]
    return snapshot.previous(folder)


def none_yet(folder: Path) -> bool:
    """Whether ``folder`` is a ``current`` whose place is there and holds no snapshot at all: none has been made yet."""
    place = folder.absolute().parent
    if folder.name != CURRENT or os.path.lexists(folder) or not place.is_dir():
        return False
    return not any((each / MANIFEST).exists() for each in (place, *place.iterdir()))


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Makes the folder and this the only writer in it; the lock ends with the process, however it ends.

    Removes what a killed writer left. Raises SnapshotError when another process is at work there, when ``current`` is no
    link, and when the file system has no locks or no links.
    """
    place.mkdir(parents=True, exist_ok=True)
    lock = os.open(place / ".lock", os.O_RDWR | os.O_CREAT, 0o644)  # stays there: removing it would part two who wait for it
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SnapshotError(f"{place}: another process is making a snapshot there") from None
        except OSError as error:
            raise SnapshotError(f"{place}: cannot be locked: {error.strerror}: choose a file system with locks") from None
        if os.path.lexists(link := place / CURRENT) and not link.is_symlink():
            raise SnapshotError(f"{link}: is no link to a snapshot: move it away, or choose another folder")
        _clean(place)
        if not link.is_symlink():
            _try_a_link(place)
        yield
    finally:
        os.close(lock)


def publish(folder: Path, keep: int) -> None:
    """Points ``current``, beside it, at a snapshot that is whole; then removes all but the newest ``keep``, itself included."""
    place = folder.parent
    new = place / f".{CURRENT}.new"
    new.unlink(missing_ok=True)
    new.symlink_to(folder.name)  # relative: the place may be mounted elsewhere by its readers
    new.replace(place / CURRENT)
    snapshot.flush(place)
    older = [each for each in all_in(place) if each.name < folder.name]
    for each in older[: max(0, len(older) - max(keep, LEAST_KEPT) + 1)]:
        _remove(each)


def copied(folder: Path, into: Path) -> Path:
    """A copy of the snapshot in ``into``, made if absent, where no other copy stays; one that is there already is taken.

    For a place whose files are gone for their readers once they are deleted, as on NFS. Raises UnusableSnapshot when the
    snapshot is not there or goes meanwhile, SnapshotError when it cannot be written.
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
            for path in (*partial.rglob("*"), partial):
                snapshot.flush(path)  # a copy that a crash leaves without content would be taken for whole
            partial.rename(copy)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        kind = SnapshotError if (folder / MANIFEST).exists() else UnusableSnapshot
        said = error.args[0][0][2] if isinstance(error, shutil.Error) else error  # of each file that failed, and one is enough
        raise kind(f"{folder}: cannot be copied to {into}: {said}") from None
    return copy


def _try_a_link(place: Path) -> None:
    """Before the first snapshot, which may take hours to make."""
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
            _remove(each)  # its writer was killed before it was published, or an operator went back


def _remove(folder: Path) -> None:
    """Under another name first: what has a name of ours is whole."""
    gone = folder.with_name(f".{folder.name}.gone")
    folder.rename(gone)
    _delete(gone)


def _delete(folder: Path) -> None:
    """As far as possible: on NFS a file stays while a reader on this machine has it open, and the next writer tries again."""
    shutil.rmtree(folder, ignore_errors=True)
