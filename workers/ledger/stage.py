"""Ledger: the one current outcome of every reference, the only writer of ``links``, and who has outcomes judged again.

Handling records (taking.py), waking (waking.py), sweeping (sweeping.py) and settling overrides (settling.py) are pure functions
over a view; here they meet what is read and written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from reflink.verdict.judge import warm
from schemas import ManifestEvent, OutcomesEvent, read_outcome_event
from workers import metrics
from workers.catalog_reading import CatalogReader, change_of
from workers.errors import Stalled
from workers.ledger.override_inbox import OverrideInbox
from workers.ledger.permits import Permits
from workers.ledger.restoring import prepare, roll_forward
from workers.ledger.settling import ask_due
from workers.ledger.store import TABLES, PartitionStore, Topical
from workers.ledger.sweeping import sweep
from workers.ledger.taking import take_manifest, take_outcomes
from workers.ledger.view import LedgerView, Row, WorksByKey, by_partition
from workers.ledger.waking import wake
from workers.ledger.worktable import WorkTable
from workers.settings import LedgerSettings
from workers.stage import Output, Place, Received, Stage
from workers.topics import TOPICS, TopicAdmin, short_hash

log = logging.getLogger(__name__)

#: Others wait for what it wakes; but a look at few works costs as much as at many, and so does the transaction after it.
_LINGER_MS: Final = 200
#: How often the topic of overrides is looked at.
_OVERRIDES_S: Final = 0.2
#: Judgements asked for in one chore, and about how many seconds of the processor it takes.
_MOST_ASKED: Final = 200
_CHORE_S: Final = 0.04
#: References remembered as asked for; of one that is forgotten the worst is that it is judged twice.
_REMEMBERED: Final = 200_000
#: Half the time that tombstones are kept: what was deleted since is still told.
_STALE_S: Final = int(TOPICS["links"].config["delete.retention.ms"]) / 2000


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """An event of ``outcomes`` with its partition; None for one of ``catalog``, which is only checked."""

    partition: int
    event: ManifestEvent | OutcomesEvent | None


class LedgerStage(Stage[LedgerEvent, LedgerView]):
    """Reads ``outcomes`` and keeps ``links``; follows the catalog and has outcomes judged again that it may change.

    It also consumes ``catalog`` in its group, so that a bad event there is dead-lettered once and not by every follower.
    """

    name = "ledger"
    inputs = ("outcomes",)
    background_inputs = ("catalog",)
    background_linger_s = 1.0  # nobody waits for these
    outputs = ("links", "manifests", "catalog", "retries")
    follows = ("catalog", "links", "manifests", "overrides")
    sequential = True

    #: The works by key; set by ``warm``.
    works: WorksByKey

    def __init__(self, settings: LedgerSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        self.stores: dict[int, PartitionStore] = {}
        self.overrides = OverrideInbox(settings, self.stores, self.name)
        self._wakes = Permits(settings.wakes_per_s, clock=clock)
        self._sweeps = Permits(settings.sweep_per_s, saved_s=10.0, clock=clock)
        self._asked: dict[tuple[int, str], bytes] = {}
        self._next_overrides = 0.0
        self._turn = 0
        #: Partitions in whose store nothing is due any more: only when a store is opened does anything become so.
        self._none_due: set[int] = set()
        #: The output last offered as a chore, and how many overrides of each partition it settles.
        self._offered: tuple[Output, dict[int, int]] | None = None

    def warm(self) -> None:
        """Opens the works and reads the catalog topic to its end. Raises StoreFailed, Stalled and ModelNotFound."""
        warm()  # a verdict that does not fit this code is no reference's fault: fail now
        with TopicAdmin(self.settings) as admin:
            place = short_hash(admin.cluster_id() + self.settings.topic_prefix)
            topic_id = admin.topic_ids(["catalog"])["catalog"]
        self.folder = self.settings.state_dir / f"links-{place}"
        table = WorkTable(self.settings.state_dir / f"works-{place}", topic_id=topic_id, stale_after_s=_STALE_S)
        self.works, self._table = table, table
        self.reader = CatalogReader(self.settings, table.offset, linger_ms=_LINGER_MS)
        end, moved = self.reader.start(), time.monotonic()
        while table.offset < end:
            if self._follow_catalog(1.0):
                moved = time.monotonic()
            elif time.monotonic() - moved > self.settings.call_deadline_s:
                raise Stalled(
                    f"the catalog topic cannot be read: nothing came behind offset {table.offset} for "
                    f"{self.settings.call_deadline_s:g} s, and it ends at {end}"
                )
            else:
                time.sleep(0.01)

    def decode(self, record: Received) -> LedgerEvent:
        """Raises BadRecord."""
        if record.topic == "outcomes":
            return LedgerEvent(record.partition, read_outcome_event(record.value or b""))
        change_of(record.key, record.value)
        return LedgerEvent(record.partition, None)

    def view(self, batch: Sequence[LedgerEvent]) -> LedgerView:
        """The stores as of the last commit."""
        return LedgerView(self.stores, self.works, asked=self._asked)

    def handle(self, batch: Sequence[LedgerEvent], view: LedgerView) -> Output:
        """Publishes what is newer and different; a tombstone for what is gone."""
        output = Output()
        for each in batch:
            if isinstance(each.event, ManifestEvent):
                take_manifest(each.partition, each.event, view, output)
            elif each.event is not None:
                take_outcomes(each.partition, each.event, view, output)
        return output

    def chore(self) -> Output | None:
        """Overrides that came, then what is due and what changes of the catalog concern, then the sweep."""
        self._turn += 1
        output, settled = Output(), dict[int, int]()
        for partition in self._in_turn():
            if number := self.overrides.settle(partition, self._view_after(output), output):
                settled[partition] = number
                output.places |= {("outcomes", partition)}
        view = LedgerView(self.stores, self.works)
        metrics.CHANGES_BEHIND.set(max((self.works.offset - view.woken(each) for each in self.stores), default=0))
        if not settled and not self._wake(output) and self._wakes.left():
            self._sweep(output)
        if not output.places:
            return None
        self._offered = (output, settled)
        return output

    def assigned(self, places: Sequence[Place]) -> None:
        """Opens the partitions' stores and brings them up to what is published. Raises StoreFailed."""
        partitions = [partition for topic, partition in places if topic == "outcomes"]
        if not partitions:
            return
        with TopicAdmin(self.settings) as admin:
            found = admin.topic_ids(TABLES)
        topic_ids: dict[Topical, str | None] = {table: found.get(table) for table in TABLES}
        for partition in partitions:
            store = PartitionStore(self.folder / str(partition), stale_after_s=_STALE_S, topic_ids=topic_ids)
            prepare(store, self.works)
            self.stores[partition] = store
        heard = roll_forward({partition: self.stores[partition] for partition in partitions}, self.works, self.settings)
        self.overrides.hear(heard)
        self.overrides.follow()

    def released(self, places: Sequence[Place]) -> None:
        """Closes the partitions' stores; they stay on disk for the next time."""
        gone = [partition for topic, partition in places if topic == "outcomes" and partition in self.stores]
        for partition in gone:
            self.stores.pop(partition).close()
        self._none_due.difference_update(gone)
        if gone:
            self._asked = {key: value for key, value in self._asked.items() if key[0] in self.stores}
            self.overrides.follow()

    def committed(self, output: Output, offsets: Mapping[Place, int]) -> None:
        """Writes what was published to the stores. Raises StoreFailed.

        What the stores say is then behind what is published, so nothing may be decided by it: the worker must end.
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
        self._remember(writes)

    def follow(self, seconds: float) -> bool:
        """Takes in new works, and what curators say."""
        now = time.monotonic()
        heard = False
        if now >= self._next_overrides:
            self._next_overrides = now + _OVERRIDES_S
            heard = self.overrides.take()
        return self._follow_catalog(seconds) or heard

    def close(self) -> None:
        """Closes all stores, and lets go of what is followed."""
        if hasattr(self, "reader"):
            self.reader.close()
        self.overrides.close()
        for partition in list(self.stores):
            self.stores.pop(partition).close()
        if hasattr(self, "_table"):
            self._table.close()

    # Chores

    def _in_turn(self) -> Iterator[int]:
        """Each partition once, beginning with another one in every chore."""
        partitions = sorted(self.stores)
        for number in range(len(partitions)):
            yield partitions[(self._turn + number) % len(partitions)]

    def _wake(self, output: Output) -> bool:
        """What is due and what changes concern, of as many partitions as the time allows; whether there was anything."""
        until = time.thread_time() + _CHORE_S
        for partition in self._in_turn():
            most = min(self._wakes.left(), _MOST_ASKED) - len(output.messages)
            if most < 1 or time.thread_time() > until:
                break
            if partition not in self._none_due:
                if not self._take_in(partition, ask_due(partition, self._view_after(output), most), output):
                    self._none_due.add(partition)
                most -= len(output.messages)
            if most > 0:
                self._take_in(
                    partition, wake(partition, self._view_after(output), most, self.settings.wake_probability), output
                )
        self._wakes.spend(sum(output.observed.asked.values()))
        return bool(output.places)

    def _sweep(self, output: Output) -> bool:
        """One step of the sweep of the first partition that has one; whether there was any."""
        every_ms, now = int(self.settings.sweep_every_h * 3_600_000), int(self._clock() * 1000)
        for partition in self._in_turn():
            most = min(self._sweeps.left(), _MOST_ASKED)
            if most < 1:
                return False
            if step := sweep(partition, self._view_after(output), most, now, every_ms):
                self._take_in(partition, step.output, output)
                self._sweeps.spend(step.cost)
                return True
        return False

    def _view_after(self, output: Output) -> LedgerView:
        return LedgerView(self.stores, self.works, output.writes, self._asked)

    def _take_in(self, partition: int, done: Output | None, output: Output) -> bool:
        if done is None:
            return False
        output.add(done)
        output.places |= {("outcomes", partition)}
        return True

    def _remember(self, writes: Mapping[Row, bytes | None]) -> None:
        for (partition, table, reference), value in writes.items():
            if table == "asked" and value is not None:
                self._asked[partition, reference] = value
        while len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]

    # The catalog

    def _follow_catalog(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        any_news = False
        while (news := self.reader.take()) is not None:
            any_news = True
            self._table.apply(news.records, news.offset)
            if time.monotonic() >= until:
                break
        metrics.CATALOG_WORKS.set(len(self._table))
        metrics.CATALOG_OFFSET.set(self._table.offset)
        metrics.CATALOG_LAG.set(max(0, self.reader.end - self._table.offset))
        return any_news
