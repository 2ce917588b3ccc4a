"""A snapshot is a folder that is either complete or not there: a manifest, and the files it vouches for.

It is written beside its place under another name, flushed to disk, and renamed; the manifest comes last.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import pydantic
from pydantic import BaseModel, ConfigDict

from reflink.entities import bad_record
from reflink.errors import SnapshotError
from reflink.text import Mode

FORMAT: Final = 1
MANIFEST: Final = "meta.json"


class File(BaseModel):
    """One file of a snapshot: its size in bytes and the CRC-32 of its content."""

    model_config = ConfigDict(frozen=True)

    size: int
    crc32: int


class Manifest(BaseModel):
    """What a snapshot is: written as ``meta.json``.

    ``mode`` is that of the vectors' texts, ``lexical_mode`` that of the trigrams'; ``vectors`` and ``trigrams`` count
    the works in these indexes, None where there is no index. ``offset`` is the first of ``topic`` that was not applied.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["reflink-catalog"] = "reflink-catalog"
    format: int = FORMAT
    created: str = ""
    works: int = 0
    vectors: int | None = None
    trigrams: int | None = None
    model: str | None = None
    precision: str | None = None
    mode: Mode = "TVL"
    lexical_mode: Mode = "Raw"
    cluster: str | None = None
    topic: str | None = None
    offset: int = 0
    files: dict[str, File] = {}

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())

    def check_model(self, model: str, mode: str, precision: str) -> None:
        """Raises SnapshotError unless the vectors were made by this model, of texts in this mode, at this precision."""
        for what, has, wanted in (
            ("model", self.model, model),
            ("mode", self.mode, mode),
            ("precision", self.precision, precision),
        ):
            if has != wanted:
                raise SnapshotError(f"the catalog's vectors are of {what} {has}, not {wanted}: build it again")


def read(folder: Path) -> Manifest:
    """The manifest, once every file it names was found with its size. Raises SnapshotError otherwise."""
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        what = "no such folder" if not folder.is_dir() else f"it has no {MANIFEST}: unfinished, or not a catalog"
        raise SnapshotError(f"{folder}: {what}") from None
    except OSError as error:
        raise SnapshotError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        manifest = Manifest.model_validate_json(data)
    except pydantic.ValidationError as error:
        raise SnapshotError(f"{path}: damaged, or not a catalog's: {bad_record('manifest', error)}") from None
    if manifest.format != FORMAT:
        raise SnapshotError(f"{folder}: format {manifest.format}, this reflink reads {FORMAT}: build the catalog again")
    for name, file in manifest.files.items():
        try:
            size = (folder / name).stat().st_size
        except OSError:
            raise SnapshotError(f"{folder}: damaged: {name} is missing") from None
        if size != file.size:
            raise SnapshotError(f"{folder}: damaged: {name} has {size} bytes, not {file.size}")
    return manifest


def verify(folder: Path) -> Manifest:
    """As ``read``, and reads every byte. Raises SnapshotError when a checksum differs."""
    manifest = read(folder)
    for name, file in manifest.files.items():
        if _crc32(folder / name) != file.crc32:
            raise SnapshotError(f"{folder}: damaged: the content of {name} has changed")
    return manifest


def refuse_foreign(folder: Path) -> None:
    """Raises SnapshotError when something else than a snapshot or an empty folder is there."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, pydantic.ValidationError):
        raise SnapshotError(f"{folder}: exists and is not a catalog: not replaced") from None


@contextmanager
def publish(folder: Path, manifest: Manifest) -> Iterator[Path]:
    """Gives a new folder to write into; on leaving, adds the manifest and puts it in the place of ``folder``.

    On an exception, ``folder`` is left as it was. Raises SnapshotError when what is there is not a snapshot, and when
    another process is writing one there.
    """
    folder = folder.absolute()
    refuse_foreign(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f".{folder.name}.new")
    new.mkdir(exist_ok=True)
    lock = os.open(new, os.O_RDONLY)
    try:
        _lock(lock, new, folder)
        for left in new.iterdir():  # by a writer that was killed
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()
    except BaseException:
        os.close(lock)
        raise
    try:
        yield new
        files = {
            path.relative_to(new).as_posix(): File(size=path.stat().st_size, crc32=_crc32(path))
            for path in sorted(new.rglob("*"))
            if path.is_file()
        }
        (new / MANIFEST).write_bytes(manifest.model_copy(update={"files": files}).model_dump_json(indent=1).encode())
        for path in (*new.rglob("*"), new):
            _fsync(path)
        _replace(new, folder)
        _fsync(folder.parent)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        os.close(lock)


def _lock(descriptor: int, new: Path, folder: Path) -> None:
    """Makes ``new`` this writer's own; the lock ends with the process, however it ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mine = os.path.samestat(os.fstat(descriptor), new.stat())  # else it was published while we waited
    except (BlockingIOError, FileNotFoundError):
        mine = False
    if not mine:
        raise SnapshotError(f"{folder}: another process is writing it")


def _replace(new: Path, folder: Path) -> None:
    """Puts ``new`` where ``folder`` is; what was there is left under the name ``new``, to be deleted."""
    if not folder.exists() or not any(folder.iterdir()):
        new.rename(folder)
    elif not _exchange(new, folder):
        aside = new.with_name(f"{new.name}.old")
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
        new.rename(folder)
        aside.rename(new)


def _exchange(first: Path, second: Path) -> bool:
    """Swaps two folders in one step where the system can (Linux: renameat2): a snapshot is there at every moment."""
    at_cwd, exchange = -100, 2
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    return renameat2 is not None and renameat2(at_cwd, os.fsencode(first), at_cwd, os.fsencode(second), exchange) == 0


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _crc32(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            checksum = zlib.crc32(chunk, checksum)
    return checksum


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def bind(folder: Path, *, cluster: str, topic: str, offset: int) -> Manifest:
    """Says of a snapshot built from a file that it is ``topic`` of ``cluster`` up to ``offset``, as of now.

    Raises SnapshotError.
    """
    manifest = read(folder).model_copy(update={"cluster": cluster, "topic": topic, "offset": offset, "created": _now()})
    new = folder / f"{MANIFEST}.new"
    new.write_bytes(manifest.model_dump_json(indent=1).encode())
    _fsync(new)
    new.replace(folder / MANIFEST)
    _fsync(folder)
    return manifest
