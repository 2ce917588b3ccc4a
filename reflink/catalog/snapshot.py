"""A snapshot is a folder that is either complete or not there: a manifest, and the files it vouches for.

It is written beside its place under another name, flushed to disk, and renamed; the manifest comes last. What it replaces
is kept as the previous one, so that there is something to go back to when the new one is damaged.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pydantic

from reflink.catalog.manifest import FORMAT, MANIFEST, File, Manifest, of_files, read, verify
from reflink.errors import SnapshotError

__all__ = ["FORMAT", "MANIFEST", "File", "Manifest", "bind", "flush", "previous", "publish", "read", "refuse_foreign", "verify"]

_PREVIOUS: Final = ".previous"


def previous(folder: Path) -> Path:
    """Where the snapshot that ``folder`` replaced is, if it is there."""
    folder = folder.absolute()
    return folder.with_name(folder.name + _PREVIOUS)


def refuse_foreign(folder: Path) -> None:
    """Raises SnapshotError when something else than a snapshot or an empty folder is there."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        known = "kind" in Manifest.model_validate_json((folder / MANIFEST).read_bytes()).model_fields_set
    except (OSError, pydantic.ValidationError):
        known = False
    if not known:
        raise SnapshotError(f"{folder}: exists and is not a catalog: not replaced")


@contextmanager
def publish(folder: Path, manifest: Manifest, *, keep_previous: bool = True) -> Iterator[Path]:
    """Gives a new folder to write into; on leaving, adds the manifest and puts it in the place of ``folder``.

    The snapshot that was there becomes ``previous(folder)``, in place of the one that was previous before; without
    ``keep_previous`` neither is kept. On an exception both are left as they were. Raises SnapshotError when what is there
    is not a snapshot, and when another process is writing one there.
    """
    folder = folder.absolute()
    refuse_foreign(folder)
    refuse_foreign(previous(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f".{folder.name}.new")
    with _alone(folder):
        for left in (new, _aside(new)):  # by a writer that was killed
            shutil.rmtree(left, ignore_errors=True)
        new.mkdir()
        try:
            yield new
            (new / MANIFEST).write_bytes(manifest.model_copy(update={"files": of_files(new)}).to_bytes())
            for path in (*new.rglob("*"), new):
                flush(path)
            _replace(new, folder, keep_previous=keep_previous)
            flush(folder.parent)
        finally:
            for left in (new, _aside(new)):
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Makes this the only writer of ``folder``; the lock ends with the process, however it ends. Raises SnapshotError."""
    path = folder.with_name(f".{folder.name}.lock")
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = os.path.samestat(os.fstat(lock), path.stat())  # else its holder removed it just now
        except (BlockingIOError, FileNotFoundError):
            mine = False
        if not mine:
            raise SnapshotError(f"{folder}: another process is writing it")
        try:
            yield
        finally:
            path.unlink()
    finally:
        os.close(lock)


def _aside(new: Path) -> Path:
    """Where what is to be deleted goes when ``new`` is in use."""
    return new.with_name(f"{new.name}.old")


def _replace(new: Path, folder: Path, *, keep_previous: bool) -> None:
    """Puts ``new`` where ``folder`` is, and what was there, when it is whole, where the previous one is.

    After every step a whole snapshot is at ``folder``; where folders cannot be swapped, at ``folder`` or as the previous.
    What is neither kept nor published any more is left under the names ``new`` or ``_aside(new)``, to be deleted.
    """
    before, aside = previous(folder), _aside(new)
    if not folder.exists() or not any(folder.iterdir()):
        new.rename(folder)
    else:
        keep = _is_whole(folder)
        if _exchange(new, folder):
            if keep and keep_previous and not (before.exists() and _exchange(new, before)):
                new.rename(before)
        else:
            if keep and before.exists():
                before.rename(aside)
            folder.rename(before if keep else aside)
            new.rename(folder)
    if not keep_previous and before.exists():
        shutil.rmtree(aside, ignore_errors=True)
        before.rename(aside)


def _is_whole(folder: Path) -> bool:
    try:
        read(folder)
    except SnapshotError:
        return False
    return True


def _exchange(first: Path, second: Path) -> bool:
    """Swaps two folders in one step where the system can (Linux: renameat2): a snapshot is there at every moment."""
    at_cwd, exchange = -100, 2
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    return renameat2 is not None and renameat2(at_cwd, os.fsencode(first), at_cwd, os.fsencode(second), exchange) == 0


def flush(path: Path) -> None:
    """Brings a file, or what a folder holds under which names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def bind(
    folder: Path, *, cluster: str, topic: str, offset: int, topic_id: str | None = None, as_of: datetime | None = None
) -> Manifest:
    """Says of a snapshot that it is ``topic`` of ``cluster`` up to ``offset``, as of that time (default: now).

    Raises SnapshotError.
    """
    created = (as_of or datetime.now(UTC)).isoformat(timespec="seconds")
    found = {"cluster": cluster, "topic": topic, "topic_id": topic_id, "offset": offset, "created": created}
    manifest = read(folder).model_copy(update=found)
    new = folder / f"{MANIFEST}.new"
    new.write_bytes(manifest.to_bytes())
    flush(new)
    new.replace(folder / MANIFEST)
    flush(folder)
    return manifest
