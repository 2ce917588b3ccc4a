"""Bringing the ledger's stores up to what is published, when partitions are assigned."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka import TopicPartition

from reflink.errors import BadRecord
from schemas import LinkEvent
from workers.clients import plain_consumer, received
from workers.errors import Stalled
from workers.ledger.indexing import indexed
from workers.ledger.store import TABLES, PartitionStore, Table, Topical
from workers.ledger.sweeping import Sweep
from workers.ledger.view import SWEEP, WOKEN, WORKS, Cursor, WorksByKey
from workers.settings import LedgerSettings
from workers.stage import Received

log = logging.getLogger(__name__)

Rows = list[tuple[Table, str, bytes | None]]


def prepare(store: PartitionStore, works: WorksByKey) -> None:
    """Before a store is rolled forward: where waking goes on from.

    A new store begins at the works' present, as what it is brought up to is compared with them row by row. So does one that is
    ahead of the works: its catalog is there no more. Over works that were read anew a sweep begins, as it is not known what
    left the catalog meanwhile.
    """
    said, known = store.get("progress", WOKEN), store.get("progress", WORKS)
    if said is not None and Cursor.read(said).offset > works.offset:
        log.warning("the catalog topic was created anew, the store is begun anew", extra={"catalog_offset": works.offset})
        store.wipe()
        said = known = None
    rows: Rows = []
    if said is None:
        rows.append(("progress", WOKEN, Cursor(works.offset).written()))
    elif known != works.born:
        rows.append(("progress", SWEEP, Sweep().written()))
    if known != works.born:
        rows.append(("progress", WORKS, works.born))
    if rows:
        store.write(rows, {})


def of_this_catalog(value: bytes | None, works: WorksByKey) -> bytes | None:
    """An outcome as the store takes it: judged at an offset that the catalog has not reached, it is of another one.

    Then it counts as judged before everything. A linker may be a moment ahead of the works; what it judged is only asked again.
    """
    if value is None or indexed(value).catalog_offset <= works.offset:
        return value
    try:
        return LinkEvent.from_json(value).model_copy(update={"catalog_offset": 0}).to_json()
    except BadRecord:
        return value


def due(rows: Rows, store: PartitionStore, works: WorksByKey) -> Iterator[tuple[Table, str, bytes | None]]:
    """A row of ``due`` for each outcome among ``rows`` that a change concerns which waking has passed, and it did not know."""
    passed = Cursor.read(store.get("progress", WOKEN)).untouched
    for table, reference, value in rows:
        if table != "links" or value is None:
            continue
        keys, judged_at = indexed(value)
        if judged_at < passed and (changed := works.changed_since(keys, judged_at)) is not None:
            yield "due", reference, b"%d" % changed


def roll_forward(
    stores: Mapping[int, PartitionStore], works: WorksByKey, settings: LedgerSettings
) -> list[tuple[int, Received]]:
    """Brings stores up to the last stable offsets of their partitions of ``TABLES``.

    Returns the records of ``overrides`` that no published outcome was compared with yet, by partition; of these the stores'
    positions stay where they are. Raises Stalled.
    """
    heard: list[tuple[int, Received]] = []
    if not stores:
        return heard
    consumer = plain_consumer(settings)
    try:
        places: dict[TopicPartition, tuple[Topical, int]] = {
            TopicPartition(settings.topic(table), partition): (table, partition) for partition in stores for table in TABLES
        }
        ends = consumer.end_offsets(list(places))
        for place, (table, partition) in places.items():
            if stores[partition].next_offset(table) > ends[place]:
                log.warning("store is ahead of its topic, begun anew", extra={"partition": partition, "topic": table})
                stores[partition].wipe()
                prepare(stores[partition], works)
        consumer.assign(list(places))
        for place, (table, partition) in places.items():
            consumer.seek(place, stores[partition].next_offset(table))
        left = {place for place in places if consumer.position(place) < ends[place]}
        moved = time.monotonic()
        while left:
            if time.monotonic() - moved > settings.call_deadline_s:
                raise Stalled(
                    f"the ledger's store cannot be brought up: nothing came from {left} for {settings.call_deadline_s:g} s"
                )
            for place, records in consumer.poll(timeout_ms=500).items():
                moved = time.monotonic()
                table, partition = places[place]
                if table == "overrides":
                    heard += [(partition, received(table, record)) for record in records]
                else:
                    _write(table, records, stores[partition], works)
            for place in list(left):
                if consumer.position(place) >= ends[place]:
                    left.discard(place)
    finally:
        consumer.close()
    return heard


def _write(table: Topical, records: Sequence[Any], store: PartitionStore, works: WorksByKey) -> None:
    rows: Rows = []
    for record in records:
        try:
            key = (record.key or b"").decode()
        except UnicodeDecodeError:
            log.warning("a record of no reference is passed over", extra={"topic": table, "offset": record.offset})
            continue
        rows.append((table, key, of_this_catalog(record.value, works) if table == "links" else record.value))
    store.write([*rows, *due(rows, store, works)], {table: records[-1].offset + 1})
