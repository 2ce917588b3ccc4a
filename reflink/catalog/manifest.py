"""The manifest of a snapshot, and the check of the snapshot's files against it.

The manifest lists every file with its size and SHA-256, and ends with a seal, the SHA-256 of the manifest itself. A snapshot of
another format is refused: it must be built again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import orjson
import pydantic
from pydantic import BaseModel, ConfigDict

from reflink.entity_base import bad_record
from reflink.errors import SnapshotError, UnusableSnapshot
from reflink.storage import checksums
from reflink.text import SEP, Mode

FORMAT: Final = 2
MANIFEST: Final = "meta.json"

#: The last line of a manifest: the SHA-256 of the manifest without this line.
_SEAL: Final = re.compile(rb',\n "seal": "([0-9a-f]{64})"\n\}\Z')
_WHAT_TO_DO: Final = "copy it again or build it again"


class File(BaseModel):
    """A file of a snapshot: its size in bytes and the SHA-256 of its content."""

    model_config = ConfigDict(frozen=True)

    size: int
    sha256: str

    def is_same(self, path: Path) -> bool:
        """Whether the content of ``path`` has this checksum."""
        return checksums.sha256(path) == self.sha256


class Manifest(BaseModel):
    """The description of a snapshot, written as ``meta.json``.

    ``mode`` and ``separator``: mode of the vectors' texts and separator of their fields (default: that of SBERT).
    ``lexical_mode``: mode of the trigrams' texts. ``vectors``: number of works, ``trigrams``: number of texts in these indexes
    (a work has one for each title), None without the index. ``place_rules``: version of the rules of the table of locators
    (reflink.blocking.locators.RULES), None in a catalog that was not saved. ``doubtful``: number of works whose DOI belongs to
    another journal than their venue (reflink.catalog.doubtful), None in a catalog that was not saved. ``journals``:
    number of journals in the table of journals, None without a table. ``offset``: the first offset of ``topic`` that was not
    applied. ``topic_id`` distinguishes the topic from a later one of the same name.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["reflink-catalog"] = "reflink-catalog"
    format: int = FORMAT
    created: str = ""
    works: int = 0
    vectors: int | None = None
    trigrams: int | None = None
    place_rules: int | None = None
    doubtful: int | None = None
    journals: int | None = None
    model: str | None = None
    precision: str | None = None
    mode: Mode = "TVL"
    separator: str = SEP
    lexical_mode: Mode = "Raw"
    cluster: str | None = None
    topic: str | None = None
    topic_id: str | None = None
    offset: int = 0
    files: dict[str, File] = {}

    @property
    def created_at(self) -> datetime:
        """``created`` as a time. Raises ValueError if it is not a time, as in the manifest of an unsaved catalog."""
        return datetime.fromisoformat(self.created)

    @property
    def size(self) -> int:
        """Total size of the files in bytes."""
        return sum(file.size for file in self.files.values())

    def check_model(self, model: str | None, mode: str, precision: str | None, separator: str) -> None:
        """Raise SnapshotError unless the vectors are of this model and precision, from texts of this mode and separator."""
        differ = [
            f"of {what} {has}, not {wanted}"
            for what, has, wanted in (
                ("model", self.model, model),
                ("mode", self.mode, mode),
                ("precision", self.precision, precision),
                ("separator", repr(self.separator), repr(separator)),
            )
            if has != wanted
        ]
        if differ:
            raise SnapshotError(f"the catalog's vectors are {'; '.join(differ)}: build it again")

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON with its seal."""
        text = self.model_dump_json(indent=1, exclude_none=False).encode()
        return b'%s,\n "seal": "%s"\n}' % (text.removesuffix(b"\n}"), hashlib.sha256(text).hexdigest().encode())


def of_files(folder: Path) -> dict[str, File]:
    """Return size and SHA-256 of the files in ``folder``, by relative path."""
    hashes = checksums.of_all((path for path in folder.rglob("*") if path.is_file()), checksums.sha256)
    return {path.relative_to(folder).as_posix(): File(size=path.stat().st_size, sha256=hashes[path]) for path in sorted(hashes)}


def read(folder: Path) -> Manifest:
    """Return the manifest after checking that every listed file exists with its size.

    Raises SnapshotError if the folder is not a catalog or the manifest cannot be read, and its subclass UnusableSnapshot if the
    catalog is damaged, unfinished or of another format.
    """
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        if folder.is_dir() and any(folder.glob("works*")):
            raise UnusableSnapshot(f"{folder}: damaged: {MANIFEST} is missing: {_WHAT_TO_DO}") from None
        what = f"it has no {MANIFEST}: not a catalog" if folder.is_dir() else "no such folder"
        raise SnapshotError(f"{folder}: {what}") from None
    except OSError as error:
        raise SnapshotError(f"{path}: cannot be read: {error.strerror}") from None
    manifest = _parsed(path, data)
    for name, file in manifest.files.items():
        try:
            size = (folder / name).stat().st_size
        except OSError:
            raise UnusableSnapshot(f"{folder}: damaged: {name} is missing: {_WHAT_TO_DO}") from None
        if size != file.size:
            raise UnusableSnapshot(f"{folder}: damaged: {name} has {size} bytes, not {file.size}: {_WHAT_TO_DO}")
    return manifest


def _parsed(path: Path, data: bytes) -> Manifest:
    seal = _SEAL.search(data)
    if seal is not None and hashlib.sha256(data[: seal.start()] + b"\n}").hexdigest().encode() != seal[1]:
        raise UnusableSnapshot(f"{path}: damaged: its content has changed: {_WHAT_TO_DO}")
    if (version := format_of(data)) not in (None, FORMAT):
        raise UnusableSnapshot(f"{path.parent}: its format is {version}, this reflink reads {FORMAT}: build the catalog again")
    try:
        manifest = Manifest.model_validate_json(data)
    except pydantic.ValidationError as error:
        raise UnusableSnapshot(f"{path}: damaged, or not a catalog's: {bad_record('manifest', error)}: {_WHAT_TO_DO}") from None
    if "kind" not in manifest.model_fields_set:
        raise UnusableSnapshot(f"{path}: damaged, or not a catalog's: its kind is missing: {_WHAT_TO_DO}")
    if seal is None:
        raise UnusableSnapshot(f"{path}: damaged: its seal is missing: {_WHAT_TO_DO}")
    return manifest


def format_of(data: bytes) -> Any:
    """Return the format in the manifest of a catalog; None if ``data`` is not one."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return found.get("format") if isinstance(found, dict) and found.get("kind") == "reflink-catalog" else None


def verify(folder: Path, parts: Collection[str] | None = None) -> Manifest:
    """Check like ``read``, compare the checksums of all files or of those in the sub-folders ``parts``, and find extra files.

    Raises SnapshotError, naming the file: UnusableSnapshot if a checksum differs or the folder has a file that is not listed.
    """
    manifest = read(folder)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        # File systems leave hidden files, and a killed writer leaves `.new` files; no reader opens them.
        if path.is_file() and name not in manifest.files and name != MANIFEST and not _passing(path):
            raise UnusableSnapshot(f"{folder}: damaged: {name} does not belong to it: {_WHAT_TO_DO}, or remove the file")
    wanted = {folder / name: file for name, file in manifest.files.items() if parts is None or name.split("/")[0] in parts}
    try:
        same = checksums.of_all(wanted, lambda path: wanted[path].is_same(path))
    except OSError as error:
        raise UnusableSnapshot(f"{error.filename}: cannot be read: {error.strerror}: {_WHAT_TO_DO}") from None
    for path, is_same in sorted(same.items()):
        if not is_same:
            name = path.relative_to(folder).as_posix()
            raise UnusableSnapshot(f"{folder}: damaged: the content of {name} has changed: {_WHAT_TO_DO}")
    return manifest


def _passing(path: Path) -> bool:
    return path.name.startswith(".") or path.name == f"{MANIFEST}.new"
