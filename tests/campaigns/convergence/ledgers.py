"""A ledger process over topics in memory. Its stores and its log of changes survive a restart, unless they are lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from tests.campaigns.convergence.replicas import CATALOG, change_of_record
from tests.campaigns.convergence.topics import PARTITIONS, Topics
from tests.workers.ledger.changelogs import MemoryChangeLog
from tests.workers.ledger.ledgered import Memory, Nowhere
from workers.config.settings import LedgerSettings
from workers.ledger.recovery import Rows, prepare, swept
from workers.ledger.stage import LedgerStage
from workers.ledger.stores.outcome_store import TABLES
from workers.records import Partition
from workers.stage import Output

#: What a process does with a batch in flight. ``crashes``: it ends before the commit. ``commits and crashes``: it ends after
#: the commit and before it updates its store.
Fate = Literal["commits", "crashes", "commits and crashes"]

#: Interval between sweeps in hours; without sweeps, the test shows which changes the blocking keys propagate.
SWEEP_EVERY_H: Final = 24.0
_NEVER_H: Final = 1e9


@cache  # reading the environment takes longer than a history
def _settings(wakes_per_s: float, sweeping: bool) -> LedgerSettings:
    every_h = SWEEP_EVERY_H if sweeping else _NEVER_H
    return LedgerSettings(state_dir=Path("nowhere"), wakes_per_s=wakes_per_s, sweep_per_s=50.0, sweep_every_h=every_h)


class LedgerProcess:
    """One ledger across the restarts of its process."""

    def __init__(
        self,
        topics: Topics,
        clock: Callable[[], float],
        wakes_per_s: float = 5.0,
        *,
        store: Callable[[int], Any] = lambda _: Memory(),
        log: Callable[[], Any] = MemoryChangeLog,
        window: int = 1_000_000,
    ) -> None:
        self._topics, self._clock, self._store, self._new_log, self.window = topics, clock, store, log, window
        self._wakes_per_s, self._sweeping = wakes_per_s, False
        self._disk: dict[int, Any] = {}
        self._log = self._new_log()
        #: Offset of the first unread override, by partition.
        self._overrides_read: dict[int, int] = {}
        self._start()

    def _start(self) -> None:
        """Create the stage and read the catalog to its end, as ``warm`` does."""
        self.stage = LedgerStage(_settings(self._wakes_per_s, self._sweeping), clock=self._clock)
        self.stage.overrides.partitions = PARTITIONS
        self.stage.catalog = self._log
        self.stage.overrides._reader = Nowhere()  # type: ignore[assignment]
        self.follow()

    # Partitions

    def assign(self, partition: int) -> None:
        """Open the partition's store on disk and restore it to the end of its topics, as ``assigned`` does."""
        store = self._disk.setdefault(partition, self._store(partition))
        self._log.end = max(self._log.end, self._topics.end(CATALOG))
        prepare(store, self._log)
        for table in TABLES:
            place = (table, partition)
            if table == "overrides":
                continue
            for record in self._topics.read(place, store.next_offset(table)):
                rows: Rows = [(table, (record.key or b"").decode(), record.value)]
                store.write([*rows, *swept(rows, store)], {table: record.offset + 1})
        self.stage.stores[partition] = store
        self.stage.continue_propagation({partition: store})
        self._overrides_read[partition] = store.next_offset("overrides")
        self._read_overrides(partition, None)

    def release(self, partition: int) -> None:
        """Release the partition; its store stays on disk."""
        self.stage.released([("outcomes", partition)])

    def restart(self) -> None:
        """Start a new process on the same disk."""
        owned = list(self.stage.stores)
        self._start()
        for partition in owned:
            self.assign(partition)

    def lose_store(self, partition: int) -> None:
        """Delete the partition's store and restart; the new process begins with an empty store."""
        self._disk.pop(partition, None)
        self.restart()

    def lose_log(self) -> None:
        """Delete the log of changes and restart."""
        self._log = self._new_log()
        self.restart()

    def sweep(self, on: bool) -> None:
        """Set whether sweeps may begin."""
        self._sweeping = on
        self.stage.settings = _settings(self._wakes_per_s, on)

    def seen(self, place: Partition) -> int:
        """Return the offset up to which the store has read the partition.

        Without a store it is the end of the partition, because the ledger will read all of it.
        """
        topic, partition = place
        store = self._disk.get(partition)
        return self._topics.end(place) if store is None else int(store.next_offset(topic))

    # Steps

    def take(self, partition: int, limit: int | None = None, fate: Fate = "commits") -> bool:
        """Handle at most ``limit`` records of ``outcomes``. Return whether there were any."""
        place = ("outcomes", partition)
        records = self._topics.waiting("ledger", place, limit)
        if not records or partition not in self.stage.stores:
            return False
        batch = [self.stage.decode(record) for record in records]
        output = self.stage.handle(batch, self.stage.view(batch))
        self._finish(output, fate, {place: records[-1].offset + 1})
        return True

    def background_task(self, fate: Fate = "commits") -> bool:
        """Run the stage's background task once. Return whether it did anything."""
        output = self.stage.background_task()
        if output is None:
            return False
        if output.messages:
            assert output.partitions, "a background task with messages names no partitions: nothing would fence it"
            assert {partition for _, partition in output.partitions} <= set(self.stage.stores)
        self._finish(output, fate, {})
        return True

    def _finish(self, output: Output, fate: Fate, positions: dict[Partition, int]) -> None:
        if fate == "crashes":
            self.restart()
            return
        offsets = self._topics.commit(output.messages, int(self._clock() * 1000), "ledger", positions)
        if fate == "commits and crashes":
            self.restart()
        else:
            self.stage.committed(output, offsets)

    def follow(self, limit: int | None = None) -> bool:
        """Add at most ``limit`` catalog events to the log of changes. Return whether there were any."""
        catalog: Any = self.stage.catalog
        if catalog.offset - self.stage.propagated() > self.window:
            return False
        records = self._topics.read(CATALOG, catalog.offset, limit)
        changes = [
            (record.offset, record.timestamp, change)
            for record in records
            if (change := change_of_record(record.key, record.value)) is not None
        ]
        end = self._topics.end(CATALOG) if limit is None or len(records) < limit else records[-1].offset + 1
        if end == catalog.offset:
            return False
        catalog.apply(changes, end)
        catalog.trim(min(self.stage.propagated(), catalog.offset - self.window))
        return bool(records)

    def read_overrides(self, limit: int | None = None) -> bool:
        """Read at most ``limit`` overrides of each assigned partition. Return whether there were any."""
        found = [self._read_overrides(partition, limit) for partition in self.stage.stores]  # all of them, not until the first
        return any(found)

    def _read_overrides(self, partition: int, limit: int | None) -> bool:
        records = self._topics.read(("overrides", partition), self._overrides_read[partition], limit)
        for record in records:
            self.stage.overrides.add([(partition, record)])
            self._overrides_read[partition] = record.offset + 1
        return bool(records)

    def work_off(self) -> bool:
        """Do all work that is possible now. Return whether there was any."""
        busy = self.follow()
        busy |= self.read_overrides()
        for partition in list(self.stage.stores):
            busy |= self.take(partition)
        while self.background_task():
            busy = True
        return busy
