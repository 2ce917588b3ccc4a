"""Reading the catalog topic from a position on, in order, in a separate thread."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka.errors import KafkaError

from reflink.entities import ID_KINDS, Work
from reflink.errors import BadRecord
from reflink.identifiers import NORMALISERS
from schemas import CatalogEvent
from workers.config.settings import KafkaSettings
from workers.kafka.partition_reader import PartitionReader
from workers.records import Partition

log = logging.getLogger(__name__)

_CATALOG: Final[Partition] = ("catalog", 0)
_QUEUED: Final = 8
#: About 50 works.
_FETCH_BYTES: Final = 20_000


@dataclass(frozen=True)
class CatalogChanges:
    """Catalog changes in order, and the catalog's version after them. ``records`` is empty where the topic has only markers.

    A record consists of its offset, its timestamp (ms since 1970), and a work or the id of a removed work.
    """

    records: Sequence[tuple[int, int, Work | str]]
    offset: int


class CatalogReader:
    """A reader of the catalog topic from ``position`` on. Up to 8 fetches wait in a queue until ``take`` returns them.

    ``end`` is the last known end of the topic. Invalid events are skipped (see ``change_of``).
    """

    def __init__(self, settings: KafkaSettings, position: int, *, linger_ms: int = 100) -> None:
        """``linger_ms``: how long the broker may wait for about 50 works: applying works singly costs twice as much."""
        self.settings, self.end, self._linger_ms = settings, position, linger_ms
        self._position = position
        self._queue: queue.Queue[CatalogChanges | BaseException] = queue.Queue(maxsize=_QUEUED)
        self._stop = threading.Event()
        self._reader: PartitionReader | None = None

    def start(self) -> int:
        """Start to read. Return the end of the topic."""
        reader = self._reader = PartitionReader(
            self.settings,
            {_CATALOG: self._position},
            fetch_min_bytes=_FETCH_BYTES,
            fetch_max_wait_ms=self._linger_ms,
        )
        end = self.end = reader.end_offsets()[_CATALOG]
        threading.Thread(target=self._run, args=(reader,), name="catalog", daemon=True).start()
        return end

    def take(self) -> CatalogChanges | None:
        """Return the next changes, None if there are none yet. Raises the error that ended the reading thread."""
        try:
            changes = self._queue.get_nowait()
        except queue.Empty:
            return None
        if isinstance(changes, BaseException):
            raise changes
        return changes

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()
        if self._reader is not None:
            self._reader.close()

    def _run(self, reader: PartitionReader) -> None:
        """Read until ``close``. Pass any error to ``take``: otherwise the end of the thread would go unnoticed."""
        try:
            self._read(reader)
        except BaseException as error:
            if not self._stop.is_set():
                self._queue.put(error)

    def _read(self, reader: PartitionReader) -> None:
        position = self._position
        while not self._stop.is_set():
            try:
                found = reader.poll(0.2).get(_CATALOG, ())
            except KafkaError as error:
                log.warning("reading the catalog failed, trying again", extra={"reason": type(error).__name__})
                time.sleep(0.5)
                continue
            records = [
                (record.offset, record.timestamp, change)
                for record in found
                if (change := _change_or_none(record.key, record.value)) is not None
            ]
            # Every fetch response contains the end, also a response without records.
            self.end = reader.high_watermark(_CATALOG) or self.end
            if reader.next_offsets[_CATALOG] != position:
                position = reader.next_offsets[_CATALOG]
                self._queue.put(CatalogChanges(records, position))


def change_of(key: bytes | None, value: bytes | None) -> Work | str:
    """Return the work's new state, or the id of a removed work. Raises BadRecord for an invalid event.

    Only the ledger, which also consumes the topic in its group, sends an invalid catalog event to the dead letters. All
    other workers skip it. They all use this function, so they all skip the same events.
    """
    if not key:
        raise BadRecord("catalog event: the key must be a work id and is empty")
    try:
        work_id = key.decode()
    except UnicodeDecodeError:
        raise BadRecord(f"catalog event: the key {key!r} is not UTF-8") from None
    if value is None:
        return work_id
    work = CatalogEvent.from_json(value).work
    if work is None:
        return work_id
    if work.id != work_id:
        raise BadRecord(f"catalog event: the key is {work_id!r} but the work's id is {work.id!r}")
    kind, _, name = work_id.partition(":")
    # A source may have built its ids from identifiers that it did not normalise.
    if kind in ID_KINDS and (listed := getattr(work.ids, kind)) and (normal := NORMALISERS[kind](name)) not in (None, listed):
        raise BadRecord(f"catalog event: the work's id has {kind} {normal!r} but its identifiers have {listed!r}")
    return work


def _change_or_none(key: bytes | None, value: bytes | None) -> Work | str | None:
    try:
        return change_of(key, value)
    except BadRecord:
        return None
