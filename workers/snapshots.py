"""What a worker's catalog begins with: the snapshot, the one before it, or the topic from its beginning.

The snapshot may be a link, `current` (reflink.catalog.generations): it is followed once, when the catalog is opened.

A snapshot that a fault or time has made unusable is refused loudly and the next best is taken: the topic has everything,
it only takes longer. What an operator chose wrongly ends the worker.
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
from workers import metrics
from workers.clients import end_of
from workers.settings import CatalogSettings
from workers.topics import TOPICS, TopicAdmin

log = logging.getLogger(__name__)

#: A snapshot that is older may have missed tombstones: half the time that the topic keeps them.
OLDEST: Final = timedelta(milliseconds=int(TOPICS["catalog"].config["delete.retention.ms"]) / 2)
#: By how much the clocks of two machines may differ.
_SKEW: Final = timedelta(hours=1)

_FROM_TOPIC: Final = "the catalog topic is read from its beginning, which takes long: make a new snapshot"


def open_catalog(settings: CatalogSettings, *, vectors: bool, trigrams: bool, empty: Catalog) -> Catalog:
    """The settings' snapshot; when that is unusable the one before it; when that is too, or there is none, ``empty``.

    ``empty`` says what model and modes are wanted. Where there is to be a ``current`` and none was made yet, it is ``empty``
    too. Raises SnapshotError for what an operator must put right: no such folder, a snapshot of another topic or cluster, or
    made by another model, mode, separator or precision.
    """
    folder = settings.catalog_snapshot
    show_next(folder)
    if folder is None:
        return _started_from("topic", empty)
    if generations.none_yet(folder):
        log.warning("no catalog snapshot was made yet", extra={"folder": str(folder), "instead": _FROM_TOPIC})
        return _started_from("topic", empty)
    before = generations.previous(folder)
    if folder.is_symlink():
        folder = folder.resolve()  # another may be published meanwhile
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
            raise SnapshotError(f"{place} has {has} and REFLINK_LEXICAL_MODE is {empty.lexical_mode}: build it again")
        return catalog

    try:
        return _started_from("snapshot", opened(folder))
    except UnusableSnapshot as error:
        _warn_of(error, f"{before} is tried" if before.exists() else _FROM_TOPIC)
    except SnapshotError as error:
        # Where folders cannot be swapped, a writer that was killed may have left the previous one alone.
        if folder.exists() or not before.exists():
            raise
        _warn_of(error, f"{before} is tried")
    if before.exists():
        try:
            return _started_from("previous", opened(before))
        except SnapshotError as error:  # nobody chose it, so whatever is wrong with it ends nothing
            _warn_of(error, _FROM_TOPIC)
    return _started_from("topic", empty)


def _check_vectors(catalog: Catalog, empty: Catalog, place: Path) -> None:
    has, wanted = catalog.manifest.precision, empty.manifest.precision
    catalog.check_model(empty.manifest.model, empty.mode, has, empty.separator)
    if has != wanted:
        what = f"the catalog's vectors are of precision {has}, not {wanted}"
        raise SnapshotError(f"{place}: {what}: build it again, or set REFLINK_PRECISION={has}")


def _warn_of(error: SnapshotError, instead: str) -> None:
    log.error("catalog snapshot refused", extra={"reason": str(error), "instead": instead})


def _started_from(source: str, catalog: Catalog) -> Catalog:
    for each in ("snapshot", "previous", "topic"):
        metrics.CATALOG_SOURCE.labels(each).set(each == source)
    log.info("catalog opened", extra={"source": source, "works": len(catalog), "offset": catalog.offset})
    return catalog


def show_next(folder: Path | None) -> None:
    """Shows the metrics when the snapshot in the folder was made: what the next start opens, not what this one did."""
    created = 0.0
    if folder is not None:
        with suppress(SnapshotError, OSError, ValueError):
            created = datetime.fromisoformat(read_manifest(folder).created).timestamp()
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
    """Raises SnapshotError when the catalog is a snapshot of another topic, or of none.

    UnusableSnapshot when it is of a topic of that name that is there no more, too old, or of a time yet to come. ``topic_id``
    and ``end``: of the topic as it is, None when not asked.
    """
    manifest, topic, folder = catalog.manifest, settings.topic("catalog"), folder or settings.catalog_snapshot
    if not manifest.created:  # it came from no snapshot
        return
    if (manifest.cluster, manifest.topic) != (cluster, topic):
        origin = f"of {manifest.topic} on cluster {manifest.cluster}" if manifest.topic else "of no topic"
        raise SnapshotError(
            f"{folder}: a snapshot {origin}, and this worker follows {topic} on cluster {cluster}: "
            "fill the topic and bind the snapshot to it with `reflink-worker load WORKS --bind FOLDER`"
        )
    another = topic_id is not None and manifest.topic_id is not None and topic_id != manifest.topic_id
    if another or (end is not None and manifest.offset > end):
        raise UnusableSnapshot(
            f"{folder}: stands at offset {manifest.offset} of a {topic} that was deleted: the one of that name now was "
            f"created anew and ends at {end}; make a new snapshot"
        )
    if (age := datetime.now(UTC) - datetime.fromisoformat(manifest.created)) > OLDEST:
        raise UnusableSnapshot(
            f"{folder}: is {age.days} days old: tombstones since then may be gone from {topic}, so works that were withdrawn "
            "would stay; make a new snapshot"
        )
    if -age > _SKEW:
        raise UnusableSnapshot(
            f"{folder}: is of {manifest.created}, which is yet to come, so its age is not known: set the clock right, of this "
            "machine or of the one that made it, and make a new snapshot"
        )
