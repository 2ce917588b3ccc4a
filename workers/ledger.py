"""Ledger: the one current outcome of every reference, and the only writer of ``links``."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import orjson
from kafka import TopicPartition

from reflink.catalog import Catalog
from schemas import SCHEMA_VERSION, LinkEvent, ManifestEvent, Outcome, OutcomesEvent, read_outcome_event
from schemas.links import OUTCOME_HEADER, PaperState
from workers.clients import plain_consumer
from workers.errors import Stalled
from workers.following import CatalogFollower, change_of
from workers.settings import LedgerSettings
from workers.snapshots import open_catalog
from workers.stage import Message, Output, Place, Received, Stage
from workers.store import TABLES, PartitionStore, Table
from workers.topics import TOPICS, TopicAdmin, short_hash

log = logging.getLogger(__name__)

#: A row as it will be: (partition, table, key).
Row = tuple[int, Table, str]
#: What must differ for an outcome to be published anew.
_CONTENT: Final = ("link", "reference")


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """An event of ``outcomes`` with its partition; None for one of ``catalog``, which is only checked."""

    partition: int
    event: ManifestEvent | OutcomesEvent | None


@dataclass(frozen=True)
class LedgerView:
    """The stores, and over them what this batch has written so far."""

    stores: Mapping[int, PartitionStore]
    written: Mapping[Hashable, bytes | None] = field(default_factory=dict)

    def get(self, row: Row, output: Output) -> bytes | None:
        """What is published, or will be with this batch: what was handled before it, and ``output``."""
        for writes in (output.writes, self.written):
            if row in writes:
                return writes[row]
        partition, table, key = row
        return self.stores[partition].get(table, key)

    def after(self, output: Output) -> LedgerView:
        """With the output's writes seen."""
        return LedgerView(self.stores, {**self.written, **output.writes})


class LedgerStage(Stage[LedgerEvent, LedgerView]):
    """Reads ``outcomes`` and keeps ``links``.

    It also consumes ``catalog`` in its group, so that a bad event there is dead-lettered once and not by every follower.
    (Waking references whose target arrives late will read the same events here.)
    """

    name = "ledger"
    inputs = ("outcomes",)
    background_inputs = ("catalog",)
    outputs = ("links", "manifests")
    follows = ("catalog", "links", "manifests")
    sequential = True

    def __init__(self, settings: LedgerSettings) -> None:
        self.settings = settings
        self.stores: dict[int, PartitionStore] = {}

    def warm(self) -> None:
        """Opens the catalog and reads its topic to the end. Raises SnapshotError."""
        with TopicAdmin(self.settings) as admin:
            self.folder = self.settings.state_dir / f"links-{short_hash(admin.cluster_id() + self.settings.topic_prefix)}"
        self.catalog = open_catalog(self.settings, vectors=False, trigrams=False, empty=Catalog.empty(lexical_mode=None))
        self.follower = CatalogFollower(self.settings, self.catalog, None)
        self.follower.wait_for(self.follower.start(), self.settings.call_deadline_s)

    def decode(self, record: Received) -> LedgerEvent:
        """Raises BadRecord."""
        if record.topic == "outcomes":
            return LedgerEvent(record.partition, read_outcome_event(record.value or b""))
        change_of(record.key, record.value)
        return LedgerEvent(record.partition, None)

    def view(self, batch: Sequence[LedgerEvent]) -> LedgerView:
        """The stores as of the last commit."""
        return LedgerView(self.stores)

    def handle(self, batch: Sequence[LedgerEvent], view: LedgerView) -> Output:
        """Publishes what is newer and different; a tombstone for what is gone."""
        output = Output()
        for each in batch:
            if isinstance(each.event, ManifestEvent):
                take_manifest(each.partition, each.event, view, output)
            elif each.event is not None:
                take_outcomes(each.partition, each.event, view, output)
        return output

    def assigned(self, places: Sequence[Place]) -> None:
        """Opens the partitions' stores and brings them up to what is published. Raises StoreFailed."""
        partitions = [partition for topic, partition in places if topic == "outcomes"]
        # Half the time that tombstones are kept: what was deleted since is still told.
        stale_after_s = int(TOPICS["links"].config["delete.retention.ms"]) / 2000
        topic_ids: dict[Table, str | None] = {}
        if partitions:
            with TopicAdmin(self.settings) as admin:
                found = admin.topic_ids(TABLES)
                topic_ids = {table: found.get(table) for table in TABLES}
        for partition in partitions:
            folder = self.folder / str(partition)
            self.stores[partition] = PartitionStore(folder, stale_after_s=stale_after_s, topic_ids=topic_ids)
        roll_forward({partition: self.stores[partition] for partition in partitions}, self.settings)

    def released(self, places: Sequence[Place]) -> None:
        """Closes the partitions' stores; they stay on disk for the next time."""
        for topic, partition in places:
            if topic == "outcomes" and (store := self.stores.pop(partition, None)):
                store.close()

    def committed(self, output: Output, offsets: Mapping[Place, int]) -> None:
        """Writes what was published to the stores. Raises StoreFailed.

        What the stores say is then behind what is published, so nothing may be decided by it: the worker must end.
        """
        by_partition: dict[int, list[tuple[Table, str, bytes | None]]] = {}
        for (partition, table, key), value in cast("dict[Row, bytes | None]", output.writes).items():
            by_partition.setdefault(partition, []).append((table, key, value))
        for partition, rows in by_partition.items():
            next_offsets = {table: offsets[table, partition] + 1 for table in TABLES if (table, partition) in offsets}
            self.stores[partition].write(rows, next_offsets)

    def follow(self, seconds: float) -> bool:
        """Takes in new works."""
        return self.follower.apply(seconds)

    def close(self) -> None:
        """Closes all stores."""
        self.released([("outcomes", partition) for partition in list(self.stores)])
        if hasattr(self, "follower"):
            self.follower.close()


def take_manifest(partition: int, manifest: ManifestEvent, view: LedgerView, output: Output) -> None:
    """Remembers the paper's newest version; references that it no longer has get a tombstone."""
    citing = manifest.citing
    known = _state(partition, citing, view, output)
    if known is not None and manifest.paper_version < known.paper_version:
        output.observed.decisions["late"] += 1
        return
    state = PaperState(
        schema_version=SCHEMA_VERSION,
        citing=citing,
        paper_version=manifest.paper_version,
        references=manifest.references,
        withdrawn=manifest.withdrawn,
    )
    if state == known:
        return
    for reference in sorted(set(known.references if known else ()) - set(manifest.references)):
        if view.get((partition, "links", reference), output) is not None:
            output.messages.append(Message("links", reference.encode(), None, partition_key=citing.encode()))
            output.writes[partition, "links", reference] = None
            output.observed.decisions["gone"] += 1
    value = state.to_json()
    output.messages.append(Message("manifests", citing.encode(), value))
    output.writes[partition, "manifests", citing] = value


def take_outcomes(partition: int, event: OutcomesEvent, view: LedgerView, output: Output) -> None:
    """Publishes each outcome that is newer than what is known and says something else.

    The order is (paper version, catalog offset), whatever order they come in; of two equal in both, the later one wins.
    """
    known = _state(partition, event.citing, view, output)
    current = set(known.references) if known else set()
    version = (event.paper_version, event.catalog_offset)
    for item in event.items:
        reference = item.reference.id
        if known is not None and (event.paper_version < known.paper_version or reference not in current):
            output.observed.decisions["late"] += 1
            continue
        before = view.get((partition, "links", reference), output)
        value = _link_event(event, item).to_json()
        decision = _decide(before, value, version)
        output.observed.decisions[decision] += 1
        if decision == "late":
            continue
        output.writes[partition, "links", reference] = value
        if decision == "unchanged":
            continue
        kind = b"linked" if item.link.cited is not None else b"unresolved"
        output.messages.append(
            Message("links", reference.encode(), value, ((OUTCOME_HEADER, kind),), partition_key=event.citing.encode())
        )
        output.observed.arrivals.append((event.arrived, event.live))


def _decide(before: bytes | None, value: bytes, version: tuple[int, int]) -> str:
    if before is None:
        return "published"
    old = orjson.loads(before)
    if (old["paper_version"], old["catalog_offset"]) > version:
        return "late"
    new = orjson.loads(value)
    return "unchanged" if all(old.get(part) == new.get(part) for part in _CONTENT) else "published"


def _link_event(event: OutcomesEvent, item: Outcome) -> LinkEvent:
    return LinkEvent(
        schema_version=SCHEMA_VERSION,
        citing=event.citing,
        paper_version=event.paper_version,
        arrived=event.arrived,
        live=event.live,
        catalog_offset=event.catalog_offset,
        judged=event.judged,
        link=item.link,
        reference=item.reference,
    )


def _state(partition: int, citing: str, view: LedgerView, output: Output) -> PaperState | None:
    data = view.get((partition, "manifests", citing), output)
    return None if data is None else PaperState.from_json(data)


def roll_forward(stores: Mapping[int, PartitionStore], settings: LedgerSettings) -> None:
    """Brings stores up to the last stable offsets of their partitions of ``links`` and ``manifests``."""
    if not stores:
        return
    consumer = plain_consumer(settings)
    try:
        places = {
            TopicPartition(settings.topic(table), partition): (table, partition) for partition in stores for table in TABLES
        }
        ends = consumer.end_offsets(list(places))
        for place, (table, partition) in places.items():
            if stores[partition].next_offset(table) > ends[place]:
                log.warning("store is ahead of its topic, begun anew", extra={"partition": partition, "topic": table})
                stores[partition].wipe()
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
                rows = ((table, (record.key or b"").decode(), record.value) for record in records)
                stores[partition].write(rows, {table: records[-1].offset + 1})
            for place in list(left):
                if consumer.position(place) >= ends[place]:
                    left.discard(place)
    finally:
        consumer.close()
