"""The demo's catalog: works into the topic, and for large files a snapshot, so that no worker encodes what another did."""

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

from kafka import TopicPartition

from reflink.catalog import snapshot
from reflink.catalog.reading import read_works
from reflink.entities import Work
from reflink.errors import BadRecord
from reflink.lexical.storage import LAYOUT
from reflink.places import RULES
from schemas import CatalogEvent
from workers.clients import plain_consumer
from workers.loading import load, load_and_bind
from workers.local.errors import LocalSetupError
from workers.settings import FallbackSettings, KafkaSettings, LinkerSettings

#: Up to so many works, a linker encodes the topic in about the time that a build takes to begin.
SMALL: Final = 5000

#: What precision ``auto`` means for works: another meaning makes another catalog, and torch, which would tell, takes seconds.
_AUTO: Final = "fp16 on a GPU, fp32 on a CPU"


def is_small(works: Path) -> bool:
    """Whether workers may as well read the works from the topic."""
    return next(islice(read_works(works), SMALL, None), None) is None


def folder_of(works: Path, cache: Path, linker: LinkerSettings, fallback: FallbackSettings) -> Path:
    """Where the catalog of a file of works is kept. What would make it another one is in its name.

    That is the file's content, the model, how it computes, the modes and the formats.
    """
    precision = _AUTO if linker.precision == "auto" else linker.precision
    how = (linker.model, linker.device, precision, linker.semantic_mode, fallback.lexical_mode, snapshot.FORMAT, LAYOUT, RULES)
    with works.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(repr(how).encode())
    return cache / "catalogs" / digest.hexdigest()[:16]


def build(
    works: Path,
    cache: Path,
    linker: LinkerSettings,
    fallback: FallbackSettings,
    say: Callable[[str], object] = lambda _: None,
) -> Path:
    """The catalog folder of a file of works, made by ``reflink catalog build`` unless it is there. Raises LocalSetupError."""
    folder = folder_of(works, cache, linker, fallback)
    if not (folder / snapshot.MANIFEST).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        say(f"building the catalog of {works}, once: it is kept in {folder}")
        modes = ["--mode", linker.semantic_mode, "--lexical-mode", fallback.lexical_mode]
        encoder = ["--device", linker.device, "--precision", linker.precision]
        model = [] if linker.model is None else ["--model", linker.model]
        command = [sys.executable, "-m", "reflink.cli", "catalog", "build", str(works), "--out", str(folder)]
        if subprocess.run([*command, *modes, *encoder, *model], check=False).returncode != 0:
            raise LocalSetupError(f"`reflink catalog build {works}` failed; what it has done so far is kept for the next time")
    return folder


def linked_copy(folder: Path, to: Path) -> Path:
    """The snapshot once more, to be bound to a topic: its files are immutable and shared, but for the manifest."""

    def link_or_copy(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:  # another file system
            shutil.copyfile(source, target)

    # Binding replaces the manifest by another file: the original's stays as it is.
    shutil.copytree(folder, to, copy_function=link_or_copy)
    return to


def fill(works: Path, settings: KafkaSettings, progress: Callable[[int], object], *, bound_to: Path | None = None) -> int:
    """Loads the works into the topic, and binds a snapshot of them to it if one is given; returns how many.

    Raises BadRecord for the first bad line, SnapshotError, NotSent.
    """
    if bound_to is None:
        return load(_sound(works), settings, progress)
    return load_and_bind(_sound(works), bound_to, settings, progress)


def _sound(works: Path) -> Iterator[Work]:
    for each in read_works(works):
        if isinstance(each, BadRecord):
            raise each
        yield each


def find_works(settings: KafkaSettings, ids: set[str]) -> dict[str, Work]:
    """The newest state of these works in the catalog topic, papers that were added to it included."""
    found: dict[str, Work] = {}
    place = TopicPartition(settings.topic("catalog"), 0)
    consumer = plain_consumer(settings)
    try:
        consumer.assign([place])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([place])[place]
        while consumer.position(place) < end:
            for record in consumer.poll(timeout_ms=500).get(place, ()):
                work_id = (record.key or b"").decode("utf-8", "replace")
                if work_id in ids and record.value is not None and (work := CatalogEvent.from_json(record.value).work):
                    found[work_id] = work
    finally:
        consumer.close()
    return found
