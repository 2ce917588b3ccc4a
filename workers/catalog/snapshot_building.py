"""Building of a snapshot from the catalog topic, while the workers run.

The builder continues from the previous snapshot, so it encodes and indexes only later changes.
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

from reflink.catalog import Catalog, Manifest, ReusingEncoder, generations, snapshot
from reflink.encoders import NamedEncoder
from reflink.errors import SnapshotError
from reflink.text import Mode
from workers.catalog.follower import CatalogFollower
from workers.catalog.snapshot_opening import OLDEST, open_catalog
from workers.config.settings import LinkerSettings
from workers.kafka.clients import end_of
from workers.kafka.topics import TopicAdmin

log = logging.getLogger(__name__)

#: Manifest fields that identify the model and the texts of a snapshot's vectors, and the texts of its trigrams.
_OF_VECTORS: Final = ("model", "precision", "mode", "separator")
_OF_TRIGRAMS: Final = ("lexical_mode",)

#: Callback that receives the number of events applied and the total number to apply.
Progress = Callable[[int, int], object]


What = Literal["written", "refreshed", "unchanged"]
WRITTEN: Final[What] = "written"
#: The topic has no new events, and the snapshot's date was renewed.
REFRESHED: Final[What] = "refreshed"
#: The topic has no new events, and nothing was written.
UNCHANGED: Final[What] = "unchanged"


@dataclass(frozen=True)
class _Origin:
    """The topic and cluster to which a snapshot is bound."""

    cluster: str
    topic: str
    topic_id: str | None


@dataclass(frozen=True)
class Made:
    """The result of ``make``: what was done, and the snapshot."""

    what: What
    folder: Path
    works: int
    offset: int
    #: Offsets read from the topic, including transaction markers.
    events: int
    seconds: float


def make(
    out: Path,
    settings: LinkerSettings,
    encoder: NamedEncoder | None,
    *,
    lexical_mode: Mode | None,
    keep: int,
    source: Path | None = None,
    progress: Progress = lambda *_: None,
) -> Made:
    """Write the current catalog topic as the newest snapshot in ``out``, to which ``current`` then points.

    The builder continues from the previous snapshot. If that is unusable, missing or of another model, it continues from
    ``source`` if this is bound to the topic. Otherwise it reads the topic from its beginning and reuses the vectors that
    ``source``, or else the previous snapshot, has for the same texts. After an exception the existing snapshots are unchanged.
    ``encoder`` and ``lexical_mode``: None makes a snapshot without vectors and without trigrams, for workers with a search
    engine; it may continue a snapshot that has them. ``keep``: number of snapshots to keep, including the new one.

    Raises SnapshotError if another process builds in ``out``, a snapshot there is of another topic or cluster, or writing
    fails; WrongTopic if the topic is missing or misconfigured.
    """
    began = time.monotonic()
    empty = _empty(encoder, settings.semantic_mode, lexical_mode)
    with generations.alone(out):
        with TopicAdmin(settings) as admin:
            admin.check(["catalog"])
            origin = _Origin(admin.cluster_id(), settings.topic("catalog"), admin.topic_ids(["catalog"])["catalog"])
        # Date the snapshot before reading: the topic keeps later tombstones for as long as the snapshot may be used.
        as_of, end = datetime.now(UTC), end_of(settings, "catalog")
        before = generations.current(out)
        catalog = _beginning(out / generations.CURRENT, source, settings, empty, origin)
        start = catalog.offset
        if encoder is not None and not catalog.manifest.created and start < end:
            encoder = _with_vectors_of(source, before, encoder, settings.semantic_mode)
        _follow(catalog, settings, encoder, end, progress)
        folder, what = _kept(before, catalog, as_of, origin) or (_written(out, catalog, as_of, origin, keep), WRITTEN)
        return Made(what, folder, len(catalog), catalog.offset, catalog.offset - start, time.monotonic() - began)


def _empty(encoder: NamedEncoder | None, mode: Mode, lexical_mode: Mode | None) -> Catalog:
    if encoder is None:
        return Catalog.empty(lexical_mode=lexical_mode)
    return Catalog.empty(
        dim=encoder.dim,
        model=encoder.name,
        precision=encoder.precision,
        mode=mode,
        separator=encoder.separator,
        lexical_mode=lexical_mode,
    )


def _beginning(current: Path, source: Path | None, settings: LinkerSettings, empty: Catalog, origin: _Origin) -> Catalog:
    for folder in (current, source):
        if folder is None or (folder == current and not current.exists() and not generations.previous(current).exists()):
            continue
        manifest = _manifest(folder)
        if manifest is not None:
            if manifest.topic is None:
                continue  # its works may not be those of the topic; only its vectors are usable
            if (manifest.cluster, manifest.topic) != (origin.cluster, origin.topic):
                raise SnapshotError(
                    f"{folder}: a snapshot of {manifest.topic} on cluster {manifest.cluster}, and this is {origin.topic} on "
                    f"cluster {origin.cluster}: choose another folder"
                )
            if differ := _differences(manifest, empty):
                log.warning("a snapshot of another kind is not gone on from", extra={"folder": str(folder), "differ": differ})
                continue
        chosen = settings.model_copy(update={"catalog_snapshot": folder, "catalog_copy": None})
        vectors, trigrams = empty.vectors is not None, empty.trigrams is not None
        catalog = open_catalog(chosen, vectors=vectors, trigrams=trigrams, empty=empty)
        if catalog.manifest.created:
            return catalog
    return empty


def _with_vectors_of(source: Path | None, before: Path | None, encoder: NamedEncoder, mode: Mode) -> NamedEncoder:
    """Return an encoder that takes known texts' vectors from a snapshot. Raises SnapshotError for ``source`` only."""
    if source is not None:
        return ReusingEncoder(encoder, source, mode)
    if before is not None:
        with suppress(SnapshotError):  # damaged, or of another model
            return ReusingEncoder(encoder, before, mode)
    return encoder


def _kept(before: Path | None, catalog: Catalog, as_of: datetime, origin: _Origin) -> tuple[Path, What] | None:
    """Return the existing snapshot if the catalog equals it; renew its date at half of the maximum age. Otherwise None."""
    if before is None or catalog.manifest != _manifest(before) or catalog.offset != catalog.manifest.offset:
        return None
    if as_of - catalog.manifest.created_at <= OLDEST / 2:
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
    except OSError as error:  # the error of the writer may contain only a number of bytes
        raise SnapshotError(
            f"{folder}: cannot be written: {error.strerror or error}: is the disk full? {out} must have room for {keep + 1} "
            "snapshots"
        ) from None
    return folder


def _manifest(folder: Path) -> Manifest | None:
    try:
        return snapshot.read(folder)
    except SnapshotError:
        return None  # opening the snapshot reports the error


def _differences(manifest: Manifest, wanted: Catalog) -> list[str]:
    fields = (*(_OF_VECTORS if wanted.vectors is not None else ()), *(_OF_TRIGRAMS if wanted.trigrams is not None else ()))
    differ = [name for name in fields if getattr(manifest, name) != getattr(wanted.manifest, name)]
    parts = (("vectors", wanted.vectors), ("trigrams", wanted.trigrams))
    return differ + [name for name, index in parts if index is not None and getattr(manifest, name) is None]


def _follow(catalog: Catalog, settings: LinkerSettings, encoder: NamedEncoder | None, end: int, progress: Progress) -> None:
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
