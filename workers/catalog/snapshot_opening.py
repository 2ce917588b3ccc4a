"""Opening of a worker's catalog: from the snapshot, the previous snapshot, or the topic from its beginning.

1. If the snapshot is a link, `current` (reflink.catalog.generations), it is resolved once, when the catalog is opened.
2. If a fault or its age has made a snapshot unusable, the worker logs an error and uses the next source in this order. The
   topic contains all works, but reading it takes longer.
3. If the operator chose a wrong snapshot, the worker ends.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from reflink.catalog import Catalog, generations
from reflink.catalog.manifest import read as read_manifest
from reflink.errors import SnapshotError, UnusableSnapshot
from workers.config.settings import CatalogSettings
from workers.kafka.clients import end_of
from workers.kafka.topics import TRUSTED_S, TopicAdmin
from workers.telemetry import metrics

log = logging.getLogger(__name__)

#: Maximum age of a snapshot: half the time that the topic keeps tombstones. An older one may miss tombstones.
OLDEST: Final = timedelta(seconds=TRUSTED_S)
#: Maximum difference between the clocks of two machines.
_SKEW: Final = timedelta(hours=1)

_FROM_TOPIC: Final = "reading the catalog topic from its beginning, which takes long: make a new snapshot"


def open_catalog(settings: CatalogSettings, *, vectors: bool, trigrams: bool, empty: Catalog) -> Catalog:
    """Open the settings' snapshot; if it is unusable, the previous one; if that is unusable too or missing, return ``empty``.

    ``empty`` defines the required model and modes. It is also returned if no snapshot is configured or none was made yet.
    Raises SnapshotError for errors that an operator must correct: no such folder, or a snapshot of another topic or cluster, or
    with another model, mode, separator or precision.
    """
    folder = settings.catalog_snapshot
    show_next(folder)
    if folder is None:
        return _started_from("topic", empty)
    if generations.none_yet(folder):
        log.warning("no catalog snapshot exists yet", extra={"folder": str(folder), "instead": _FROM_TOPIC})
        return _started_from("topic", empty)
    before = generations.previous(folder)
    if folder.is_symlink():
        folder = folder.resolve()  # another snapshot may be published meanwhile
    with TopicAdmin(settings) as admin:
        cluster, topic_id = admin.cluster_id(), admin.topic_ids(["catalog"])["catalog"]
    end = end_of(settings, "catalog")

    def opened(place: Path) -> Catalog:
        if settings.catalog_copy is not None:
            place = generations.copied(place, settings.catalog_copy)
        catalog = Catalog.open(place, vectors=vectors, trigrams=trigrams, verify=settings.verify_snapshot)
        check_origin(catalog, cluster, settings, place, topic_id=topic_id, end=end)
        if vectors:
            _check_vectors(catalog, empty, place)
        if trigrams and (catalog.trigrams is None or catalog.lexical_mode != empty.lexical_mode):
            has = "no trigrams" if catalog.trigrams is None else f"trigrams of mode {catalog.lexical_mode}"
            raise SnapshotError(f"{place} has {has}, but REFLINK_LEXICAL_MODE is {empty.lexical_mode}: build it again")
        return catalog

    try:
        return _started_from("snapshot", opened(folder))
    except UnusableSnapshot as error:
        _warn_of(error, f"opening {before}" if before.exists() else _FROM_TOPIC)
    except SnapshotError as error:
        # Where folders cannot be swapped atomically, a killed writer may have left only the previous one.
        if folder.exists() or not before.exists():
            raise
        _warn_of(error, f"opening {before}")
    if before.exists():
        try:
            return _started_from("previous", opened(before))
        except SnapshotError as error:  # the operator did not choose it, so no error in it ends the worker
            _warn_of(error, _FROM_TOPIC)
    return _started_from("topic", empty)


def _check_vectors(catalog: Catalog, empty: Catalog, place: Path) -> None:
    has, wanted = catalog.manifest.precision, empty.manifest.precision
    catalog.check_model(empty.manifest.model, empty.mode, has, empty.separator)
    if has != wanted:
        what = f"the catalog's vectors are of precision {has}, not {wanted}"
        raise SnapshotError(f"{place}: {what}: build it again, or set REFLINK_PRECISION={has}")


def _warn_of(error: SnapshotError, instead: str) -> None:
    log.error("catalog snapshot unusable", extra={"reason": str(error), "instead": instead})


def _started_from(source: str, catalog: Catalog) -> Catalog:
    for each in ("snapshot", "previous", "topic"):
        metrics.CATALOG_SOURCE.labels(each).set(each == source)
    log.info("catalog opened", extra={"source": source, "works": len(catalog), "offset": catalog.offset})
    return catalog


def show_next(folder: Path | None) -> None:
    """Set the metrics of the snapshot that the next start opens, which may be newer than the one that this start opened."""
    created = 0.0
    if folder is not None:
        with suppress(SnapshotError, OSError, ValueError):
            created = read_manifest(folder).created_at.timestamp()
    metrics.CATALOG_SNAPSHOT.set(created)
    metrics.CATALOG_SNAPSHOT_EXPECTED.set(folder is not None)


def check_origin(
    catalog: Catalog,
    cluster: str,
    settings: CatalogSettings,
    folder: Path | None = None,
    *,
    topic_id: str | None = None,
    end: int | None = None,
) -> None:
    """Raise SnapshotError if the catalog is a snapshot of another topic or is not bound to a topic.

    Raises UnusableSnapshot if the topic was recreated since, or if the snapshot is too old or dated in the future. ``topic_id``
    and ``end``: id and end offset of the current topic, None if unknown.
    """
    manifest, topic, folder = catalog.manifest, settings.topic("catalog"), folder or settings.catalog_snapshot
    if not manifest.created:  # the catalog does not come from a snapshot
        return
    if (manifest.cluster, manifest.topic) != (cluster, topic):
        origin = f"of {manifest.topic} on cluster {manifest.cluster}" if manifest.topic else "of no topic"
        raise SnapshotError(
            f"{folder}: a snapshot {origin}, but this worker follows {topic} on cluster {cluster}: "
            "load the topic and bind the snapshot to it with `reflink-worker load WORKS --bind FOLDER`"
        )
    another = topic_id is not None and manifest.topic_id is not None and topic_id != manifest.topic_id
    if another or (end is not None and manifest.offset > end):
        raise UnusableSnapshot(
            f"{folder}: is at offset {manifest.offset} of a deleted topic {topic}; the topic was recreated and ends at "
            f"{end}; make a new snapshot"
        )
    if (age := datetime.now(UTC) - manifest.created_at) > OLDEST:
        raise UnusableSnapshot(
            f"{folder}: is {age.days} days old: {topic} may have lost tombstones since then, so withdrawn works would remain; "
            "make a new snapshot"
        )
    if -age > _SKEW:
        raise UnusableSnapshot(
            f"{folder}: its date {manifest.created} is in the future, so its age is unknown: correct the clock of this "
            f"machine or of the one that made the snapshot, and make a new snapshot"
        )
