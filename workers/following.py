"""Following the catalog topic: from a snapshot's offset, in order, into the catalog of this process."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from reflink.catalog import Catalog
from reflink.encoders import Encodes
from reflink.entities import Work
from reflink.errors import BadRecord, SnapshotError
from schemas import CatalogEvent
from workers import metrics
from workers.clients import REFUSALS, plain_consumer, refused
from workers.errors import Stalled
from workers.settings import CatalogSettings
from workers.topics import TOPICS, TopicAdmin

log = logging.getLogger(__name__)

#: Works applied between two looks at the clock: about 0.1 s of encoding on a CPU.
_STEP: Final = 32
#: Works applied at a time while nothing else is to do.
_BULK: Final = 1024
_QUEUED: Final = 8


@dataclass(frozen=True)
class _News:
    """Changes in order, a work or the id of one that is gone, and the catalog's version after them."""

    changes: Sequence[Work | str]
    offset: int


class CatalogFollower:
    """Reads the catalog topic in a thread of its own and applies it on the caller's.

    ``encoder`` is needed when the catalog has vectors. Nothing of the catalog is touched but within ``apply`` and ``wait_for``.
    """

    def __init__(self, settings: CatalogSettings, catalog: Catalog, encoder: Encodes | None) -> None:
        self.settings, self.catalog, self.encoder = settings, catalog, encoder
        self._queue: queue.Queue[_News | BaseException] = queue.Queue(maxsize=_QUEUED)
        self._rest: list[Work | str] = []
        self._offset_after_rest = catalog.offset
        self._stop = threading.Event()
        self._consumer: KafkaConsumer | None = None

    def start(self) -> int:
        """Begins to read where the catalog stands. Returns the topic's end, for ``wait_for``. Raises SnapshotError."""
        with TopicAdmin(self.settings) as admin:
            check_origin(self.catalog, admin.cluster_id(), self.settings)
        partition = TopicPartition(self.settings.topic("catalog"), 0)
        self._consumer = plain_consumer(self.settings)
        self._consumer.assign([partition])
        end = int(self._consumer.end_offsets([partition])[partition])
        if self.catalog.offset > end:
            raise SnapshotError(
                f"the catalog snapshot stands at offset {self.catalog.offset} of {partition.topic}, which ends at {end}: "
                "it was made from another topic; make a new one"
            )
        self._consumer.seek(partition, self.catalog.offset)
        threading.Thread(target=self._read, args=(partition,), name="catalog", daemon=True).start()
        return end

    def apply(self, seconds: float) -> bool:
        """Applies news for about so long, at least one step. Returns whether there was any. Raises what reading died of."""
        until = time.monotonic() + seconds
        any_news = False
        while True:
            if not self._rest and not self._take():
                break
            any_news = True
            step = _STEP if seconds < 1 else _BULK
            self._change(self._rest[:step])
            del self._rest[:step]
            if not self._rest:
                self.catalog.offset = self._offset_after_rest
            if time.monotonic() >= until:
                break
        if any_news:
            metrics.CATALOG_WORKS.set(len(self.catalog))
        metrics.CATALOG_OFFSET.set(self.catalog.offset)
        return any_news

    def wait_for(self, offset: int, deadline_s: float) -> None:
        """Applies until the catalog's version is at least ``offset``. Raises Stalled when nothing came for so long."""
        moved, seen = time.monotonic(), -1
        while self.catalog.offset < offset:
            if self.apply(1.0):
                moved = time.monotonic()
            elif self.catalog.offset != seen:
                moved, seen = time.monotonic(), self.catalog.offset
            elif time.monotonic() - moved > deadline_s:
                raise Stalled(
                    f"the catalog stands at offset {self.catalog.offset} and an event was judged at {offset}; nothing came for "
                    f"{deadline_s:g} s: is this worker on the same cluster and topic prefix as the others?"
                )
            else:
                time.sleep(0.01)

    def wait_for_works(self, ids: Iterable[str], deadline_s: float) -> None:
        """Applies until the catalog has these works, or the deadline has passed."""
        until = time.monotonic() + deadline_s
        for work_id in ids:
            while self.catalog.get(work_id) is None and time.monotonic() < until:
                if not self.apply(0.0):
                    time.sleep(0.005)

    def close(self) -> None:
        """Stops reading."""
        self._stop.set()
        if self._consumer is not None:
            self._consumer.close()

    def _take(self) -> bool:
        try:
            news = self._queue.get_nowait()
        except queue.Empty:
            return False
        if isinstance(news, BaseException):
            raise news
        self._rest, self._offset_after_rest = list(news.changes), news.offset
        if not self._rest:
            self.catalog.offset = news.offset
        return bool(self._rest)

    def _change(self, changes: Sequence[Work | str]) -> None:
        """Runs of additions and of removals, each as one call, in order."""
        start = 0
        while start < len(changes):
            gone = isinstance(changes[start], str)
            end = start
            while end < len(changes) and isinstance(changes[end], str) == gone:
                end += 1
            run = changes[start:end]
            if gone:
                self.catalog.remove([each for each in run if isinstance(each, str)])
            else:
                works = [each for each in run if isinstance(each, Work)]
                if self.encoder is not None:
                    self.catalog.add_encoded(works, self.encoder)
                else:
                    self.catalog.add(works)
            start = end

    def _read(self, partition: TopicPartition) -> None:
        assert self._consumer is not None
        position = self.catalog.offset
        while not self._stop.is_set():
            try:
                polled = self._consumer.poll(timeout_ms=200)
            except REFUSALS as error:
                self._queue.put(refused(error, self.settings))
                return
            except KafkaError as error:
                log.warning("reading the catalog failed, trying again", extra={"reason": type(error).__name__})
                time.sleep(0.5)
                continue
            except BaseException as error:
                if not self._stop.is_set():
                    self._queue.put(error)
                return
            records = polled.get(partition, [])
            changes = [change for record in records if (change := _change_of(record.key, record.value)) is not None]
            now_at = records[-1].offset + 1 if records else position
            with suppress(KafkaError):  # also past transaction markers, where no record is
                now_at = max(now_at, int(self._consumer.position(partition, timeout_ms=1000) or 0))
            if now_at != position:
                position = now_at
                self._queue.put(_News(changes, position))


def _change_of(key: bytes | None, value: bytes | None) -> Work | str | None:
    """The work as it now is, the id of one that is gone, or None for an event that cannot be read.

    Only one worker of the fleet sends a bad catalog event to the dead letters (the ledger, which also consumes the topic
    in its group); all others pass over it, each at the same place.
    """
    try:
        if value is None:
            return (key or b"").decode()
        event = CatalogEvent.from_json(value)
        if event.work is None:
            return (key or b"").decode()
    except (BadRecord, UnicodeDecodeError):
        return None
    return event.work if event.work.id.encode() == key else None


def open_catalog(settings: CatalogSettings, *, vectors: bool, trigrams: bool, empty: Catalog) -> Catalog:
    """The settings' snapshot, or ``empty`` without one. Raises SnapshotError."""
    if settings.catalog_snapshot is None:
        return empty
    return Catalog.open(settings.catalog_snapshot, vectors=vectors, trigrams=trigrams)


def check_origin(catalog: Catalog, cluster: str, settings: CatalogSettings) -> None:
    """Raises SnapshotError when the catalog is a snapshot of another topic, or of none."""
    manifest, topic = catalog.manifest, settings.topic("catalog")
    if settings.catalog_snapshot is None:
        return
    if (manifest.cluster, manifest.topic) != (cluster, topic):
        origin = f"of {manifest.topic} on cluster {manifest.cluster}" if manifest.topic else "of no topic"
        raise SnapshotError(
            f"{settings.catalog_snapshot}: a snapshot {origin}, and this worker follows {topic} on cluster {cluster}: "
            "fill the topic and bind the snapshot to it with `reflink-worker load WORKS --bind FOLDER`"
        )
    oldest = timedelta(milliseconds=int(TOPICS["catalog"].config["delete.retention.ms"]) / 2)
    if (age := datetime.now(UTC) - datetime.fromisoformat(manifest.created)) > oldest:
        raise SnapshotError(
            f"{settings.catalog_snapshot} is {age.days} days old: tombstones since then may be gone from {topic}, so "
            "works that were withdrawn would stay; make a new one"
        )
