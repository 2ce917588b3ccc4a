"""Restore: brings the ledger's stores up to the published state when partitions are assigned.

Invariants, after ``roll_forward``:
1. The store of a wanted partition reflects all records of ``links`` and ``manifests`` committed before the assignment, because
   reading ends at the high watermarks. The last stable offsets may be lower: a broker writes the markers of one transaction
   partition by partition.
2. Every change that an outcome missed leads to a re-evaluation: the position of propagation is a record of ``manifests``, so
   former owners requested it for every earlier change, and this ledger continues there; or by a sweep, if the log of changes
   was rebuilt, or if the last sweep began after the outcome was decided.

Cost: one read of the records since the store's offsets, and a wait for open transactions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from kafka import TopicPartition
from kafka.errors import KafkaError

from reflink.errors import BadRecord
from schemas import LinkEvent
from schemas.links import PROPAGATION_KEY
from workers.config.settings import LedgerSettings
from workers.errors import Stalled
from workers.kafka.clients import received, uncommitted_ends
from workers.kafka.open_transactions import OpenTransactions
from workers.kafka.partition_reader import PartitionReader
from workers.ledger.stores.key_index import catalog_offset_of, indexed
from workers.ledger.stores.outcome_store import TABLES, PartitionStore, Table, Topical
from workers.ledger.sweep import Sweep
from workers.ledger.view import LOG, SWEEP, CatalogLog, Cursor
from workers.records import Partition, Received

log = logging.getLogger(__name__)

#: Time without progress after which the last stable offsets are read, and interval of the log lines while waiting.
_CHECK_S: Final = 1.0
_LOG_S: Final = 10.0
_POLL_S: Final = 0.5
_CALL_S: Final = 3.0

Rows = list[tuple[Table, str, bytes | None]]


def prepare(store: PartitionStore, catalog: CatalogLog) -> None:
    """Prepare a store before it is rolled forward.

    1. A store ahead of the catalog topic is wiped: the catalog that it was built from no longer exists.
    2. If the log of changes was rebuilt, a sweep begins, because works that left the catalog meanwhile may be unknown.
    """
    known = store.get("progress", LOG)
    if Cursor.read(store.get("manifests", PROPAGATION_KEY)).offset > catalog.end:
        log.warning("the catalog topic was recreated, rebuilding the store", extra={"catalog_offset": catalog.end})
        store.wipe()
        known = None
    if known != catalog.log_id:
        store.write([("progress", SWEEP, Sweep().written()), ("progress", LOG, catalog.log_id)], {})


def begin_propagation(store: PartitionStore, catalog: CatalogLog) -> int:
    """Set the position from which change propagation continues, after the store was rolled forward. Return its offset.

    1. It continues where the last owner of the partition stood, which ``manifests`` has: an outcome that arrived before was
       compared with all earlier changes.
    2. Without such a record, it begins at the oldest outcome, or without outcomes at the present.
    3. If that position is beyond the catalog topic, the topic was recreated: propagation begins at 0.
    """
    row = store.get("manifests", PROPAGATION_KEY)
    if row is not None:
        offset = Cursor.read(row).offset
        if offset <= catalog.end:
            return offset
        offset = 0
    else:
        offset = min(_offsets(store), default=catalog.offset)
    store.write([("manifests", PROPAGATION_KEY, Cursor(offset).written())], {})
    return offset


def _offsets(store: PartitionStore) -> Iterator[int]:
    """Yield the catalog offsets of the outcomes. Only a newer version of this worker can read the others."""
    for _, value in store.rows("links"):
        with suppress(BadRecord):
            yield catalog_offset_of(value)


def of_this_catalog(value: bytes | None, catalog: CatalogLog) -> bytes | None:
    """Return an outcome as the store keeps it: with catalog offset 0 if its offset is above the end of the catalog topic.

    Such an outcome was decided against another catalog, so it counts as decided before every change. If its linker was merely
    ahead of this ledger for a moment, the only effect is another re-evaluation.
    """
    if value is None or indexed(value).catalog_offset <= catalog.end:
        return value
    try:
        return LinkEvent.from_json(value).model_copy(update={"catalog_offset": 0}).to_json()
    except BadRecord:
        return value


def swept(rows: Rows, store: PartitionStore) -> Rows:
    """Return the progress of the sweep after the outcomes in ``rows`` arrived, as a row, if it differs."""
    before = after = Sweep.read(store.get("progress", SWEEP))
    for table, _, value in rows:
        if table == "links" and value is not None:
            after = after.after_arrival(indexed(value).catalog_offset)
    return [] if after is before else [("progress", SWEEP, after.written())]


def roll_forward(
    stores: Mapping[int, PartitionStore],
    catalog: CatalogLog,
    settings: LedgerSettings,
    wanted: Callable[[Partition], bool] = lambda _: True,
) -> list[tuple[int, Received]]:
    """Bring stores up to all records committed so far in their partitions of ``TABLES``. Raises Stalled.

    Reads committed records up to the high watermarks and therefore waits for open transactions. It stops waiting for a
    partition of ``outcomes`` that is no longer ``wanted``. Returns the records of ``overrides`` that are not yet settled, each
    with its partition; the stores' positions in ``overrides`` do not move.
    """
    if not stores:
        return []
    sources: dict[TopicPartition, tuple[Topical, int]] = {
        TopicPartition(settings.topic(table), partition): (table, partition) for partition in stores for table in TABLES
    }
    # The group's offsets are already stable, so all records of the transaction that committed them lie before these ends.
    ends: dict[Partition, int] = {sources[each]: end for each, end in uncommitted_ends(settings, sources).items()}
    for table, partition in sources.values():
        if stores[partition].next_offset(table) > ends[table, partition]:
            log.warning("store is ahead of its topic, rebuilding it", extra={"partition": partition, "topic": table})
            stores[partition].wipe()
            prepare(stores[partition], catalog)
    starts: dict[Partition, int] = {
        (table, partition): stores[partition].next_offset(table) for table, partition in sources.values()
    }
    overrides: list[tuple[int, Received]] = []
    with PartitionReader(settings, starts) as reader:
        unread = _Unread(settings, reader, ends, wanted)
        while unread.update():
            for (topic, partition), records in reader.poll(_POLL_S).items():
                if topic == "overrides":
                    overrides += [(partition, received(topic, record)) for record in records]
                else:
                    _write(cast("Topical", topic), records, stores[partition], catalog)
    return overrides


class _Unread:
    """Partitions that are not yet read to their ends, and the reason why they wait."""

    def __init__(
        self,
        settings: LedgerSettings,
        reader: PartitionReader,
        ends: Mapping[Partition, int],
        wanted: Callable[[Partition], bool],
    ) -> None:
        self._settings, self._reader, self._ends, self._wanted = settings, reader, ends, wanted
        #: Within this time every transaction of a reflink worker ends and its records arrive.
        self._longest_s = settings.transaction_timeout_s + settings.call_deadline_s
        self._open = OpenTransactions(self._longest_s)
        self._positions = dict.fromkeys(ends, -1)
        self._since = self._next_check = self._next_log = time.monotonic()

    def update(self) -> bool:
        """Update the positions. Return whether records are left to read. Raises Stalled."""
        now = time.monotonic()
        for source, before in list(self._positions.items()):
            position = self._reader.next_offsets[source]
            if position >= self._ends[source] or not self._wanted(("outcomes", source[1])):
                del self._positions[source]
                self._open.forget(source)
            elif position != before:
                self._positions[source], self._since, self._next_check = position, now, now + _CHECK_S
        if self._positions and now >= self._next_check:
            self._next_check = now + _CHECK_S
            with suppress(KafkaError):  # the broker may be restarting: try again later
                self._check_progress(now - self._since)
        return bool(self._positions)

    def _check_progress(self, waited_s: float) -> None:
        stable = self._reader.end_offsets(_CALL_S)
        for source in self._positions:
            self._open.observe(source, stable[source], self._ends[source])
        held_up = sorted(source for source, position in self._positions.items() if position >= stable[source])
        names = ", ".join(f"{self._settings.topic(topic)}[{number}]" for topic, number in held_up or sorted(self._positions))
        if waited_s > self._longest_s:
            raise Stalled(
                f"the ledger's store cannot be brought up: {names} stood before an open transaction for {waited_s:.0f} s, "
                "longer than one of reflink's may last: find it and abort it (docs/runbook.md, ReflinkTransactionHangs)"
                if held_up
                else f"the ledger's store cannot be brought up: no record from {names} arrived for {waited_s:.0f} s"
            )
        if held_up and time.monotonic() >= self._next_log:
            self._next_log = time.monotonic() + _LOG_S
            log.info("waiting for open transactions", extra={"partitions": names, "seconds": round(waited_s, 1)})


def _write(table: Topical, records: Sequence[Any], store: PartitionStore, catalog: CatalogLog) -> None:
    rows: Rows = []
    for record in records:
        try:
            key = (record.key or b"").decode()
        except UnicodeDecodeError:
            log.warning("skipped a record whose key is not UTF-8", extra={"topic": table, "offset": record.offset})
            continue
        rows.append((table, key, of_this_catalog(record.value, catalog) if table == "links" else record.value))
    store.write([*rows, *swept(rows, store)], {table: records[-1].offset + 1})
