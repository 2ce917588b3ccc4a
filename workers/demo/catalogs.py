"""Load the demo's catalog into its topic; for large files also build a snapshot, so that only one process encodes the works."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from reflink.blocking.locators import RULES
from reflink.catalog import snapshot
from reflink.catalog.reading import read_works
from reflink.entities import Work
from reflink.errors import BadRecord
from reflink.lexical.segments.storage import LAYOUT
from schemas import CatalogEvent
from workers.catalog.bulk_load import load, load_and_bind
from workers.config.settings import FallbackSettings, KafkaSettings, LinkerSettings
from workers.devkit.errors import LocalSetupError
from workers.kafka.range_reader import Range

#: With at most this number of works, a linker encodes the whole topic in about the time that a build needs to start.
SMALL: Final = 5000

#: The meaning of precision ``auto`` for works. It is part of the catalog's name: if the meaning changes, so does the catalog.
#: It is stated here because torch, which could determine it, takes seconds to import.
_AUTO: Final = "fp16 on a GPU, fp32 on a CPU"


def is_small(works: Path) -> bool:
    """Return whether the file is small enough for the workers to read the works from the topic."""
    return next(islice(read_works(works), SMALL, None), None) is None


def folder_of(works: Path, cache: Path, linker: LinkerSettings, fallback: FallbackSettings, *, indexes: bool = True) -> Path:
    """Return the folder that caches the catalog of a file of works; its name covers everything that determines the catalog.

    That is the file's content, the model, how it computes, the modes and the formats.
    """
    precision = _AUTO if linker.precision == "auto" else linker.precision
    how = (linker.model, linker.device, precision, linker.semantic_mode, fallback.lexical_mode, snapshot.FORMAT, LAYOUT, RULES)
    with works.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(repr(how if indexes else (snapshot.FORMAT, RULES)).encode())
    return cache / "catalogs" / digest.hexdigest()[:16]


def build(
    works: Path,
    cache: Path,
    linker: LinkerSettings,
    fallback: FallbackSettings,
    report: Callable[[str], object] = lambda _: None,
    *,
    indexes: bool = True,
) -> Path:
    """Return the catalog folder of a file of works; ``reflink catalog build`` creates it if missing. Raises LocalSetupError.

    Without ``indexes`` it has records and keys only, for a pipeline with a search engine.
    """
    folder = folder_of(works, cache, linker, fallback, indexes=indexes)
    if not (folder / snapshot.MANIFEST).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        report(f"building the catalog of {works} for this and later runs in {folder}")
        options = ["--no-vectors", "--no-trigrams"]
        if indexes:
            options = ["--mode", linker.semantic_mode, "--lexical-mode", fallback.lexical_mode]
            options += ["--device", linker.device, "--precision", linker.precision]
            options += [] if linker.model is None else ["--model", linker.model]
        command = [sys.executable, "-m", "reflink.cli", "catalog", "build", str(works), "--out", str(folder)]
        if subprocess.run([*command, *options], check=False).returncode != 0:
            raise LocalSetupError(f"`reflink catalog build {works}` failed; the next run continues it")
    return folder


def imported(source: str, path: Path, cache: Path) -> Path:
    """Return the works of a source's file or folder as JSON lines, imported by ``reflink catalog import`` if it has changed.

    Records that cannot be read are reported and left out. Raises LocalSetupError.
    """
    files = sorted(each for each in ([path] if path.is_file() else path.rglob("*")) if each.is_file())
    about = [
        (source, path.absolute().as_posix()),
        *((each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files),
    ]
    works = cache / "imports" / f"{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}.jsonl.gz"
    if not works.exists():
        works.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "reflink.cli", "catalog", "import", source, str(path), "--out", str(works)]
        subprocess.run(command, check=False)
        if not works.exists():
            raise LocalSetupError(f"`reflink catalog import {source} {path}` failed")
    return works


def linked_copy(folder: Path, to: Path) -> Path:
    """Copy a snapshot in order to bind the copy to a topic; the immutable files are hard links, except for the manifest."""

    def link_or_copy(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:  # another file system
            shutil.copyfile(source, target)

    # Binding replaces the manifest by a new file, so the manifest of the original does not change.
    shutil.copytree(folder, to, copy_function=link_or_copy)
    return to


def fill(works: Path, settings: KafkaSettings, progress: Callable[[int], object], *, bound_to: Path | None = None) -> int:
    """Load the works into the topic, bind the snapshot ``bound_to`` to it if given, and return the number of works.

    Raises BadRecord for the first invalid line, SnapshotError, NotSent.
    """
    if bound_to is None:
        return load(_valid(works), settings, progress)
    return load_and_bind(_valid(works), bound_to, settings, progress)


def _valid(works: Path) -> Iterator[Work]:
    for each in read_works(works):
        if isinstance(each, BadRecord):
            raise each
        yield each


def find_works(settings: KafkaSettings, ids: set[str]) -> dict[str, Work]:
    """Return the newest state of these works from the catalog topic, including works added for parsed papers."""
    found: dict[str, Work] = {}
    with Range(settings, "catalog", [0]) as records:
        for record in records:
            work_id = (record.key or b"").decode("utf-8", "replace")
            if work_id in ids and record.value is not None and (work := CatalogEvent.from_json(record.value).work):
                found[work_id] = work
    return found
