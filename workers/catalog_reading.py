"""Reading the catalog topic: from a position on, in order, in a thread of its own."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from reflink.entities import ID_KINDS, Work
from reflink.errors import BadRecord
from reflink.identifiers import NORMALISERS
from schemas import CatalogEvent
from workers.clients import REFUSALS, UNREADABLE, plain_consumer, refused, unreadable
from workers.settings import KafkaSettings

log = logging.getLogger(__name__)

_QUEUED: Final = 8
#: Some 50 works.
_FETCH_BYTES: Final = 20_000


@dataclass(frozen=True)
class News:
    """What was read, in order, and the catalog's version after it; without records where the topic has only markers.

    A record is its offset, its timestamp (ms since 1970), and a work or the id of one that is gone.
    """

    records: Sequence[tuple[int, int, Work | str]]
    offset: int


class CatalogReader:
    """The catalog topic from ``position`` on; what is read waits, a few fetches of it, until it is taken.

    ``end`` is the topic's end, as last heard. Bad events are passed over (see ``change_of``).
    """

    def __init__(self, settings: KafkaSettings, position: int, *, linger_ms: int = 100) -> None:
        """``linger_ms``: how long the broker may wait for some 50 works, as each for itself costs twice as much to take in."""
        self.settings, self.end, self._linger_ms = settings, position, linger_ms
        self._position = position
        self._queue: queue.Queue[News | BaseException] = queue.Queue(maxsize=_QUEUED)
        self._stop = threading.Event()
        self._consumer: KafkaConsumer | None = None

    def start(self) -> int:
        """Begins to read. Returns the topic's end."""
        partition = TopicPartition(self.settings.topic("catalog"), 0)
        self._consumer = plain_consumer(self.settings, fetch_min_bytes=_FETCH_BYTES, fetch_max_wait_ms=self._linger_ms)
        self._consumer.assign([partition])
        end = self.end = int(self._consumer.end_offsets([partition])[partition])
        self._consumer.seek(partition, self._position)
        threading.Thread(target=self._run, args=(self._consumer, partition), name="catalog", daemon=True).start()
        return end

    def take(self) -> News | None:
        """What comes next, None when there is nothing yet. Raises what reading died of."""
        try:
            news = self._queue.get_nowait()
        except queue.Empty:
            return None
        if isinstance(news, BaseException):
            raise news
        return news

    def close(self) -> None:
        """Stops reading."""
        self._stop.set()
        if self._consumer is not None:
            self._consumer.close()

    def _run(self, consumer: KafkaConsumer, partition: TopicPartition) -> None:
        """Whatever it dies of is told: nobody would miss it otherwise."""
        try:
            self._read(consumer, partition)
        except BaseException as error:
            if not self._stop.is_set():
                self._queue.put(error)

    def _read(self, consumer: KafkaConsumer, partition: TopicPartition) -> None:
        position = self._position
        while not self._stop.is_set():
            try:
                polled = consumer.poll(timeout_ms=200)
            except REFUSALS as error:
                self._queue.put(refused(error, self.settings))
                return
            except UNREADABLE as error:
                self._queue.put(unreadable(error))
                return
            except KafkaError as error:
                log.warning("reading the catalog failed, trying again", extra={"reason": type(error).__name__})
                time.sleep(0.5)
                continue
            found = polled.get(partition, [])
            records = [
                (record.offset, record.timestamp, change)
                for record in found
                if (change := _change_or_none(record.key, record.value)) is not None
            ]
            now_at = found[-1].offset + 1 if found else position
            with suppress(KafkaError):  # also past transaction markers, where no record is
                now_at = max(now_at, int(consumer.position(partition, timeout_ms=1000) or 0))
                # Told with every fetch, an empty one too.
                self.end = consumer.highwater(partition) or self.end
            if now_at != position:
                position = now_at
                self._queue.put(News(records, position))


def change_of(key: bytes | None, value: bytes | None) -> Work | str:
    """The work as it now is, or the id of one that is gone. Raises BadRecord for an event that says neither, or both.

    Only one worker of the fleet sends a bad catalog event to the dead letters (the ledger, which also consumes the topic
    in its group); all others pass over it, each at the same place. So all ask here.
    """
    if not key:
        raise BadRecord("catalog event: its key must be a work id, and there is none")
    try:
        work_id = key.decode()
    except UnicodeDecodeError:
        raise BadRecord(f"catalog event: its key {key!r} is not UTF-8") from None
    if value is None:
        return work_id
    work = CatalogEvent.from_json(value).work
    if work is None:
        return work_id
    if work.id != work_id:
        raise BadRecord(f"catalog event: its key is {work_id!r} and its work's id {work.id!r}")
    kind, _, name = work_id.partition(":")
    # A source may have built its ids from identifiers that are not normalised.
    if kind in ID_KINDS and (said := getattr(work.ids, kind)) and (meant := NORMALISERS[kind](name)) not in (None, said):
        raise BadRecord(f"catalog event: its work's id means {kind} {meant!r} and its identifiers say {said!r}")
    return work


def _change_or_none(key: bytes | None, value: bytes | None) -> Work | str | None:
    try:
        return change_of(key, value)
    except BadRecord:
        return None
