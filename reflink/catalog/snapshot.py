"""Publish snapshots: folders of a manifest and the files it lists, each complete or absent.

A snapshot is written beside its final path under another name, with the manifest last, flushed to disk, and renamed. The
replaced snapshot is kept as the previous one, as a fallback if the new one is damaged.
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

from reflink.catalog import doubtful
from reflink.catalog.manifest import FORMAT, MANIFEST, File, Manifest, format_of, of_files, read, verify
from reflink.errors import SnapshotError
from reflink.storage import durable

__all__ = ["FORMAT", "MANIFEST", "File", "Manifest", "bind", "previous", "publish", "read", "refuse_foreign", "verify"]

_PREVIOUS: Final = ".previous"


def previous(folder: Path) -> Path:
    """Return the path of the snapshot that ``folder`` replaced; it may not exist."""
    folder = folder.absolute()
    return folder.with_name(folder.name + _PREVIOUS)


def refuse_foreign(folder: Path) -> None:
    """Raise SnapshotError if ``folder`` exists and is neither a snapshot nor empty."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        known = format_of((folder / MANIFEST).read_bytes()) is not None
    except OSError:
        known = False
    if not known:
        raise SnapshotError(f"{folder}: exists and is not a catalog: not replaced")


@contextmanager
def publish(folder: Path, manifest: Manifest, *, keep_previous: bool = True) -> Iterator[Path]:
    """Yield a new folder to write into; on exit add the manifest and put the new folder in place of ``folder``.

    The manifest gets the files and the number of doubtful works. The replaced snapshot becomes ``previous(folder)``, in place
    of the older previous one; without ``keep_previous`` neither is kept. After an exception both are unchanged. Raises
    SnapshotError if ``folder`` is not a snapshot or another process is writing it.
    """
    folder = folder.absolute()
    refuse_foreign(folder)
    refuse_foreign(previous(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f".{folder.name}.new")
    with _alone(folder):
        for left in (new, _aside(new)):  # left by a killed writer
            shutil.rmtree(left, ignore_errors=True)
        new.mkdir()
        try:
            yield new
            known = {"files": of_files(new), "doubtful": doubtful.count(new)}
            (new / MANIFEST).write_bytes(manifest.model_copy(update=known).to_bytes())
            durable.sync_tree(new)
            _replace(new, folder, keep_previous=keep_previous)
            durable.sync(folder.parent)
        finally:
            for left in (new, _aside(new)):
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock ``folder`` for this writer. The lock ends with the process, even after a kill. Raises SnapshotError."""
    path = folder.with_name(f".{folder.name}.lock")
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = os.path.samestat(os.fstat(lock), path.stat())  # otherwise its previous holder has just removed it
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
    """Return the second path for folders to be deleted, used while ``new`` is in use."""
    return new.with_name(f"{new.name}.old")


def _replace(new: Path, folder: Path, *, keep_previous: bool) -> None:
    """Move ``new`` to ``folder``, and the replaced snapshot, if complete, to ``previous(folder)``.

    1. After every step a complete snapshot is at ``folder``; if the system cannot swap folders, at ``folder`` or
       ``previous(folder)``.
    2. Folders that are no longer needed are at ``new`` or ``_aside(new)``; the caller deletes them.
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
    """Swap two folders atomically, so that both paths always exist; return False if the system cannot (Linux: renameat2)."""
    at_cwd, exchange = -100, 2
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    return renameat2 is not None and renameat2(at_cwd, os.fsencode(first), at_cwd, os.fsencode(second), exchange) == 0


def bind(
    folder: Path, *, cluster: str, topic: str, offset: int, topic_id: str | None = None, as_of: datetime | None = None
) -> Manifest:
    """Record in the manifest that the snapshot is ``topic`` of ``cluster`` up to ``offset``, as of ``as_of`` (default: now).

    Raises SnapshotError.
    """
    created = (as_of or datetime.now(UTC)).isoformat(timespec="seconds")
    found = {"cluster": cluster, "topic": topic, "topic_id": topic_id, "offset": offset, "created": created}
    manifest = read(folder).model_copy(update=found)
    durable.write(folder / MANIFEST, manifest.to_bytes(), folder / f"{MANIFEST}.new")
    return manifest
