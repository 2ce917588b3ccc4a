"""Ledger stage: publishes the one current outcome of every reference to ``links`` and requests re-evaluations.

Four modules hold the rules as pure functions of a view: apply_outcomes.py (records of ``outcomes``), change_propagation.py,
sweep.py and override_settling.py (overrides). This module connects them to the topics, the stores and the log of changes.

Invariants:
1. No other worker writes ``links``.
2. A store never holds an outcome that is not committed, because only ``committed`` writes the stage's output to the stores.

Cost: a background task takes about 40 ms of CPU time and requests at most 200 re-evaluations.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast

from reflink.verdict.judge import warm
from schemas import ManifestEvent, read_outcome_event
from schemas.links import PROPAGATION_KEY
from workers.catalog.topic_reader import change_of
from workers.config.settings import LedgerSettings
from workers.kafka.topics import TRUSTED_S, TopicAdmin, short_hash
from workers.ledger.absence import ShareWriter
from workers.ledger.apply_outcomes import apply_manifest, apply_outcomes
from workers.ledger.catalog_following import CatalogFollowing
from workers.ledger.change_propagation import propagate
from workers.ledger.override_inbox import OverrideInbox
from workers.ledger.papers import PaperCache
from workers.ledger.recovery import begin_propagation, prepare, roll_forward
from workers.ledger.stores.change_log import ChangeLog
from workers.ledger.stores.outcome_store import TABLES, PartitionStore, Topical, block_cache
from workers.ledger.sweep import sweep
from workers.ledger.transaction import LedgerTransaction
from workers.ledger.view import CatalogLog, Cursor, LedgerEvent, LedgerView, Row, by_partition
from workers.rates import TokenBucket
from workers.records import Partition, Received
from workers.stage import Output, Stage
from workers.telemetry import metrics

log = logging.getLogger(__name__)

#: Interval between polls of the topic ``overrides``.
_OVERRIDES_S: Final = 0.2
#: Limits of one background task: re-evaluations requested, and CPU time (approximate).
_MAX_REQUESTS: Final = 200
_TASK_S: Final = 0.04
#: Number of requested re-evaluations that are remembered. A reference that is forgotten is at worst evaluated twice.
_REMEMBERED: Final = 200_000


class LedgerStage(Stage[LedgerEvent, LedgerView]):
    """Stage that consumes ``outcomes``, publishes ``links``, follows the catalog and requests re-evaluations for its changes.

    It also consumes ``catalog`` in its group, so that an invalid event there becomes one dead letter, not one per follower.
    """

    name = "ledger"
    inputs = ("outcomes",)
    background_inputs = ("catalog",)
    background_linger_s = 1.0  # these records are only checked, so a delay is harmless
    outputs = ("links", "manifests", "catalog", "retries", "absence")
    follows = ("catalog", "links", "manifests", "overrides", "absence")
    sequential = True

    #: The log of changes; set by ``warm``.
    catalog: CatalogLog

    def __init__(self, settings: LedgerSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        self.stores: dict[int, PartitionStore] = {}
        self.overrides = OverrideInbox(settings, self.stores, self.name)
        self.absence = ShareWriter(settings, self.stores)
        self._requests = TokenBucket.full(settings.wakes_per_s, 1.0, clock())
        self._sweeps = TokenBucket.full(settings.sweep_per_s, 10.0, clock())
        self._requested: dict[tuple[int, str], bytes] = {}
        self._papers, self._blocks = PaperCache(), block_cache()
        self._next_overrides = 0.0
        self._turn = 0
        #: The last output offered as a background task, and the number of overrides that it settles, by partition.
        self._offered: tuple[Output, dict[int, int]] | None = None
        self._following: CatalogFollowing | None = None

    def warm(self) -> None:
        """Open the log of changes and read the catalog topic to its end. Raises StoreFailed, Stalled and ModelNotFound."""
        warm()  # fail now if the verdict does not fit this code, instead of rejecting references later
        with TopicAdmin(self.settings) as admin:
            origin = short_hash(admin.cluster_id() + self.settings.topic_prefix)
            topic_id = admin.topic_ids(["catalog"])["catalog"]
        self.folder = self.settings.state_dir / f"links-{origin}"
        shutil.rmtree(self.settings.state_dir / f"works-{origin}", ignore_errors=True)  # the table of works of older versions
        changes = ChangeLog(self.settings.state_dir / f"changes-{origin}", topic_id=topic_id, stale_after_s=TRUSTED_S)
        self.catalog = changes
        self.absence.follower.start()
        self._following = CatalogFollowing(self.settings, changes)
        self._following.start()

    def decode(self, record: Received) -> LedgerEvent:
        """Decode a record of ``outcomes``, or check a record of ``catalog``. Raises BadRecord."""
        if record.topic == "outcomes":
            return LedgerEvent(record.partition, read_outcome_event(record.value or b""))
        change_of(record.key, record.value)
        return LedgerEvent(record.partition, None)

    def view(self, batch: Sequence[LedgerEvent]) -> LedgerView:
        """Return a view of the stores as of the last commit, and of the log of changes."""
        return LedgerView(self.stores, self.catalog, requested=self._requested, papers=self._papers)

    def handle(self, batch: Sequence[LedgerEvent], view: LedgerView) -> Output:
        """Publish each outcome that is newer and different, and a tombstone for each removed reference."""
        output = Output()
        for each in batch:
            if isinstance(each.event, ManifestEvent):
                apply_manifest(each.event, LedgerTransaction(each.partition, view, output))
            elif each.event is not None:
                apply_outcomes(each.event, LedgerTransaction(each.partition, view, output))
        return output

    def background_task(self) -> Output | None:
        """Return the next background task: new overrides, else changes of the catalog, else the sweep.

        The sweep also requires permits for change propagation: without them, changes may be waiting that were not read.
        """
        self._turn += 1
        output, settled = Output(), dict[int, int]()
        for partition in self._in_turn():
            if number := self.overrides.settle(LedgerTransaction(partition, self._view_after(output), output)):
                settled[partition] = number
                output.partitions |= {("outcomes", partition)}
        metrics.CHANGES_BEHIND.set(max(0, self.catalog.end - self.propagated()))
        if not settled and not self._propagate(output) and self._requests.saved(self._clock()) >= 1:
            self._sweep(output)
        self.absence.offer(output)
        if not output.partitions:
            return None
        self._offered = (output, settled)
        return output

    def assigned(self, partitions: Sequence[Partition]) -> None:
        """Open the partitions' stores and bring them up to the published state. Raises StoreFailed and Stalled.

        Does not wait for a partition that is revoked meanwhile: nothing of it is committed before ``released``.
        """
        numbers = [number for topic, number in partitions if topic == "outcomes"]
        if not numbers:
            return
        with TopicAdmin(self.settings) as admin:
            found = admin.topic_ids(TABLES)
            self.overrides.partitions = admin.find(["overrides"])["overrides"].partitions
        if self._following is not None:
            self._following.update_end()
        topic_ids: dict[Topical, str | None] = {table: found.get(table) for table in TABLES}
        for partition in numbers:
            store = PartitionStore(
                self.folder / str(partition), stale_after_s=TRUSTED_S, topic_ids=topic_ids, cache=self._blocks
            )
            prepare(store, self.catalog)
            self.absence.restore(partition, store)
            self.stores[partition] = store
        opened = {partition: self.stores[partition] for partition in numbers}
        overrides = roll_forward(opened, self.catalog, self.settings, self.wanted)
        # A partition that was revoked meanwhile is not read to the end, so its position is not known.
        self.continue_propagation({number: store for number, store in opened.items() if self.wanted(("outcomes", number))})
        self.overrides.add(overrides)
        self.overrides.follow()

    def continue_propagation(self, stores: Mapping[int, PartitionStore]) -> None:
        """Continue propagation in stores that were rolled forward, with the changes from the lowest of their positions on."""
        needed = min((begin_propagation(store, self.catalog) for store in stores.values()), default=self.catalog.start)
        if needed < self.catalog.start:
            log.warning("reading the catalog topic again", extra={"catalog_offset": needed, "known_from": self.catalog.start})
            self.catalog.begin(needed)
            if self._following is not None:
                self._following.open()

    def released(self, partitions: Sequence[Partition]) -> None:
        """Close the partitions' stores. They stay on disk for the next assignment."""
        gone = [number for topic, number in partitions if topic == "outcomes" and number in self.stores]
        for partition in gone:
            self.stores.pop(partition).close()
        if gone:
            self._requested = {key: value for key, value in self._requested.items() if key[0] in self.stores}
            self.overrides.follow()

    def committed(self, output: Output, offsets: Mapping[Partition, int]) -> None:
        """Write the committed output to the stores. Raises StoreFailed.

        After a failure the stores are behind the topics, so no decision may be based on them: the worker must end.
        """
        writes = cast("dict[Row, bytes | None]", output.writes)
        rows = by_partition(writes)
        next_offsets: dict[int, dict[Topical, int]] = {}
        for partition in {*rows, *(partition for _, partition in offsets if partition in self.stores)}:
            next_offsets[partition] = {
                table: offsets[table, partition] + 1 for table in TABLES if (table, partition) in offsets
            }
        if self._offered is not None and self._offered[0] is output:
            for partition, number in self._offered[1].items():
                next_offsets.setdefault(partition, {})["overrides"] = self.overrides.settled(partition, number)
        for partition, positions in next_offsets.items():
            if positions or partition in rows:
                self.stores[partition].write(rows.get(partition, []), positions)
        self.absence.committed(output)
        self._remember(writes)

    def follow(self, seconds: float) -> bool:
        """Apply new works, for about ``seconds`` at most, and read new overrides. Return whether there were any."""
        now = time.monotonic()
        new_overrides = False
        if now >= self._next_overrides:
            self._next_overrides = now + _OVERRIDES_S
            new_overrides = self.overrides.take()
        self.absence.follower.follow()
        return self._follow_catalog(seconds) or new_overrides

    def close(self) -> None:
        """Close the readers, the stores and the log of changes."""
        if self._following is not None:
            self._following.close()
        self.overrides.close()
        self.absence.follower.close()
        for partition in list(self.stores):
            self.stores.pop(partition).close()

    # Background tasks

    def _in_turn(self) -> Iterator[int]:
        """Yield each partition once, starting with another one in every background task."""
        partitions = sorted(self.stores)
        for number in range(len(partitions)):
            yield partitions[(self._turn + number) % len(partitions)]

    def _propagate(self, output: Output) -> bool:
        """Process changes of as many partitions as time and permits allow. Return whether there were any."""
        until = time.thread_time() + _TASK_S
        for partition in self._in_turn():
            sent = sum(message.topic != "manifests" for message in output.messages)
            limit = min(int(self._requests.saved(self._clock())), _MAX_REQUESTS) - sent
            if limit < 1 or time.thread_time() > until:
                break
            self._add(partition, propagate(partition, self._view_after(output), limit, self.settings.wake_probability), output)
        self._requests.spend(sum(output.observed.requested.values()))
        return bool(output.partitions)

    def _sweep(self, output: Output) -> bool:
        """Do one step of the sweep in the first partition that has one. Return whether there was one."""
        every_ms, now = int(self.settings.sweep_every_h * 3_600_000), int(self._clock() * 1000)
        for partition in self._in_turn():
            limit = min(int(self._sweeps.saved(self._clock())), _MAX_REQUESTS)
            if limit < 1:
                return False
            if step := sweep(partition, self._view_after(output), limit, now, every_ms):
                self._add(partition, step.output, output)
                self._sweeps.spend(step.cost)
                return True
        return False

    def _view_after(self, output: Output) -> LedgerView:
        return LedgerView(self.stores, self.catalog, output.writes, self._requested, self._papers)

    def _add(self, partition: int, step: Output | None, output: Output) -> None:
        if step is not None:
            output.add(step)
            output.partitions |= {("outcomes", partition)}

    def _remember(self, writes: Mapping[Row, bytes | None]) -> None:
        for (partition, table, reference), value in writes.items():
            if table == "requested" and value is not None:
                self._requested[partition, reference] = value
        while len(self._requested) > _REMEMBERED:
            del self._requested[next(iter(self._requested))]

    # The catalog

    def propagated(self) -> int:
        """Return the lowest position of change propagation of the partitions; the offset of the log without partitions."""
        cursors = (Cursor.read(store.get("manifests", PROPAGATION_KEY)) for store in self.stores.values())
        return min((cursor.offset for cursor in cursors), default=self.catalog.offset)

    def _follow_catalog(self, seconds: float) -> bool:
        return self._following is not None and self._following.follow(seconds, self.propagated())
