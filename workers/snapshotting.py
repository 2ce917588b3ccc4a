"""Making a snapshot from the catalog topic, beside the workers and without stopping them.

It goes on from the snapshot before, so that only what came since is encoded and indexed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from reflink.catalog import CachedEncoder, Catalog, Manifest, VectorCache, generations, snapshot
from reflink.encoders import NamedEncoder
from reflink.errors import SnapshotError
from reflink.text import Mode
from workers.clients import end_of
from workers.following import CatalogFollower
from workers.settings import LinkerSettings
from workers.snapshots import OLDEST, open_catalog
from workers.topics import TopicAdmin

log = logging.getLogger(__name__)

#: What says by which model and of which texts the indexes of a snapshot were made.
_KIND: Final = ("model", "precision", "mode", "separator", "lexical_mode")

#: Hears how many events of the topic were taken in, and how many there are to take.
Progress = Callable[[int, int], object]


What = Literal["written", "refreshed", "unchanged"]
WRITTEN: Final[What] = "written"
#: The topic has nothing new, and the snapshot's age was renewed.
REFRESHED: Final[What] = "refreshed"
#: The topic has nothing new, and nothing was written.
UNCHANGED: Final[What] = "unchanged"


@dataclass(frozen=True)
class _Origin:
    """What a snapshot is said to be of."""

    cluster: str
    topic: str
    topic_id: str | None


@dataclass(frozen=True)
class Made:
    """What was done, and with which snapshot."""

    what: What
    folder: Path
    works: int
    offset: int
    #: Events that were taken in, markers of transactions included.
    events: int
    seconds: float


def make(
    out: Path,
    settings: LinkerSettings,
    encoder: NamedEncoder,
    *,
    lexical_mode: Mode,
    keep: int,
    source: Path | None = None,
    progress: Progress = lambda *_: None,
) -> Made:
    """The catalog as the topic has it now, as the newest snapshot in ``out``, to which ``current`` then points.

    It goes on from the one before; if that is unusable, of another model or not there, from ``source`` if it is bound to the
    topic, and else from the topic's beginning, with the vectors that ``source``, or else the one before, has for the same
    texts. What was there stays as it was on any exception. Raises SnapshotError: another process makes one there, what is
    there is of another topic or cluster, or the disk does not take it. WrongTopic when the topic is not there or not as it
    must be.
    """
    began = time.monotonic()
    empty = Catalog.empty(
        dim=encoder.dim,
        model=encoder.name,
        precision=encoder.precision,
        mode=settings.semantic_mode,
        separator=encoder.separator,
        lexical_mode=lexical_mode,
    )
    with generations.alone(out):
        with TopicAdmin(settings) as admin:
            admin.check(["catalog"])
            origin = _Origin(admin.cluster_id(), settings.topic("catalog"), admin.topic_ids(["catalog"])["catalog"])
        # What is deleted from now on is told for as long as the snapshot may be used.
        as_of, end = datetime.now(UTC), end_of(settings, "catalog")
        before = generations.current(out)
        catalog = _beginning(out / generations.CURRENT, source, settings, empty, origin)
        start = catalog.offset
        if not catalog.manifest.created and start < end:
            encoder = _with_vectors_of(source, before, encoder, settings.semantic_mode)
        _follow(catalog, settings, encoder, end, progress)
        folder, what = _kept(before, catalog, as_of, origin) or (_written(out, catalog, as_of, origin, keep), WRITTEN)
        return Made(what, folder, len(catalog), catalog.offset, catalog.offset - start, time.monotonic() - began)


def _beginning(current: Path, source: Path | None, settings: LinkerSettings, empty: Catalog, origin: _Origin) -> Catalog:
    for folder in (current, source):
        if folder is None or (folder == current and not current.exists() and not generations.previous(current).exists()):
            continue
        manifest = _manifest(folder)
        if manifest is not None:
            if manifest.topic is None:
                continue  # its vectors are of use; what it holds is not known to be the topic's
            if (manifest.cluster, manifest.topic) != (origin.cluster, origin.topic):
                raise SnapshotError(
                    f"{folder}: a snapshot of {manifest.topic} on cluster {manifest.cluster}, and this is {origin.topic} on "
                    f"cluster {origin.cluster}: choose another folder"
                )
            if differ := _differences(manifest, empty.manifest):
                log.warning("a snapshot of another kind is not gone on from", extra={"folder": str(folder), "differ": differ})
                continue
        chosen = settings.model_copy(update={"catalog_snapshot": folder, "catalog_copy": None})
        catalog = open_catalog(chosen, vectors=True, trigrams=True, empty=empty)
        if catalog.manifest.created:
            return catalog
    return empty


def _with_vectors_of(source: Path | None, before: Path | None, encoder: NamedEncoder, mode: Mode) -> NamedEncoder:
    """The encoder, asked only for texts that a snapshot does not know. Raises SnapshotError of ``source``, which was chosen."""
    if source is not None:
        return CachedEncoder(encoder, VectorCache(source, encoder, mode))
    if before is not None:
        with suppress(SnapshotError):  # damaged, or of another model
            return CachedEncoder(encoder, VectorCache(before, encoder, mode))
    return encoder


def _kept(before: Path | None, catalog: Catalog, as_of: datetime, origin: _Origin) -> tuple[Path, What] | None:
    """The snapshot that is there, if the catalog is that one still; renewed before workers refuse it for its age."""
    if before is None or catalog.manifest != _manifest(before) or catalog.offset != catalog.manifest.offset:
        return None
    if as_of - datetime.fromisoformat(catalog.manifest.created) <= OLDEST / 2:
        return before, UNCHANGED
    snapshot.bind(before, offset=catalog.offset, as_of=as_of, **vars(origin))
    return before, REFRESHED


def _written(out: Path, catalog: Catalog, as_of: datetime, origin: _Origin, keep: int) -> Path:
    folder = out / generations.name_of(as_of, catalog.offset)
    log.info("writing the snapshot", extra={"folder": str(folder), "works": len(catalog)})
    try:
        catalog.save(folder, keep_previous=False)
        snapshot.bind(folder, offset=catalog.offset, as_of=as_of, **vars(origin))
        generations.publish(folder, keep)
    except OSError as error:  # what wrote may have told no more than a number of bytes
        raise SnapshotError(
            f"{folder}: cannot be written: {error.strerror or error}: is the disk full? {out} must have room for {keep + 1} "
            "snapshots"
        ) from None
    return folder


def _manifest(folder: Path) -> Manifest | None:
    try:
        return snapshot.read(folder)
    except SnapshotError:
        return None  # whoever opens it says so


def _differences(manifest: Manifest, wanted: Manifest) -> list[str]:
    differ = [name for name in _KIND if getattr(manifest, name) != getattr(wanted, name)]
    return differ + [part for part in ("vectors", "trigrams") if getattr(manifest, part) is None]


def _follow(catalog: Catalog, settings: LinkerSettings, encoder: NamedEncoder, end: int, progress: Progress) -> None:
    start = catalog.offset
    if start >= end:
        return
    log.info("reading the catalog topic", extra={"offset": start, "until": end})
    follower = CatalogFollower(settings, catalog, encoder)
    try:
        follower.start()
        while catalog.offset < end:
            progress(catalog.offset - start, end - start)
            follower.wait_for(catalog.offset + 1, settings.call_deadline_s)
        progress(end - start, end - start)
    finally:
        follower.close()
