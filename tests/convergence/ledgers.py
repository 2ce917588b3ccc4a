"""A ledger's process over topics in memory: its stores and its table of works survive it, unless they are lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from tests.convergence.replicas import CATALOG, change_of_record
from tests.convergence.topics import Topics
from tests.workers.ledger.ledgered import Memory, Nowhere
from tests.workers.ledger.worktables import MemoryWorkTable
from workers.ledger.restoring import Rows, due, prepare
from workers.ledger.stage import LedgerStage
from workers.ledger.store import TABLES
from workers.settings import LedgerSettings
from workers.stage import Output, Place

#: What becomes of the process while it has a batch in hand. ``dies``: nothing of it is committed; ``forgets``: it is committed,
#: and the process dies before its store knows.
Fate = Literal["lives", "dies", "forgets"]

#: A sweep may begin after so long; or never, which shows what the keys do without it.
SWEEP_EVERY_H: Final = 24.0
_NEVER_H: Final = 1e9


@cache  # reading the environment takes longer than what a history does with it
def _settings(wakes_per_s: float, sweeping: bool) -> LedgerSettings:
    every_h = SWEEP_EVERY_H if sweeping else _NEVER_H
    return LedgerSettings(state_dir=Path("nowhere"), wakes_per_s=wakes_per_s, sweep_per_s=50.0, sweep_every_h=every_h)


class LedgerProcess:
    """One ledger, whatever process it is at the moment."""

    def __init__(
        self,
        topics: Topics,
        clock: Callable[[], float],
        wakes_per_s: float = 5.0,
        *,
        store: Callable[[int], Any] = lambda _: Memory(),
        works: Callable[[], Any] = MemoryWorkTable,
    ) -> None:
        self._topics, self._clock, self._store, self._new_works = topics, clock, store, works
        self._wakes_per_s, self._sweeping = wakes_per_s, False
        self._disk: dict[int, Any] = {}
        self._works = self._new_works()
        #: The first override of each partition not heard of yet.
        self._heard: dict[int, int] = {}
        self._start()

    def _start(self) -> None:
        """What ``warm`` does: the catalog is read to its end."""
        self.stage = LedgerStage(_settings(self._wakes_per_s, self._sweeping), clock=self._clock)
        self.stage.works = self._works
        self.stage.overrides._reader = Nowhere()  # type: ignore[assignment]
        self.follow()

    # Partitions

    def assign(self, partition: int) -> None:
        """Opens what it has of the partition on disk and brings it up, as ``assigned`` does."""
        store = self._disk.setdefault(partition, self._store(partition))
        prepare(store, self._works)
        for table in TABLES:
            place = (table, partition)
            if table == "overrides":
                continue
            for record in self._topics.read(place, store.next_offset(table)):
                rows: Rows = [(table, (record.key or b"").decode(), record.value)]
                store.write([*rows, *due(rows, store, self._works)], {table: record.offset + 1})
        self.stage.stores[partition] = store
        self._heard[partition] = store.next_offset("overrides")
        self._hear(partition, None)

    def release(self, partition: int) -> None:
        """It stays on disk as it is now."""
        self.stage.released([("outcomes", partition)])

    def restart(self) -> None:
        """Another process, on the same disk."""
        owned = list(self.stage.stores)
        self._start()
        for partition in owned:
            self.assign(partition)

    def lose_store(self, partition: int) -> None:
        """The disk loses a store; the next process begins it anew."""
        self._disk.pop(partition, None)
        self.restart()

    def lose_works(self) -> None:
        """The disk loses the table of works."""
        self._works = self._new_works()
        self.restart()

    def sweep(self, on: bool) -> None:
        """Whether sweeps may begin."""
        self._sweeping = on
        self.stage.settings = _settings(self._wakes_per_s, on)

    def seen(self, place: Place) -> int:
        """Up to where it knows a topic of its own, on disk; what it never had it reads whole."""
        topic, partition = place
        store = self._disk.get(partition)
        return self._topics.end(place) if store is None else int(store.next_offset(topic))

    # Steps

    def take(self, partition: int, most: int | None = None, fate: Fate = "lives") -> bool:
        """So many records of ``outcomes``. Whether there were any."""
        place = ("outcomes", partition)
        records = self._topics.waiting("ledger", place, most)
        if not records or partition not in self.stage.stores:
            return False
        batch = [self.stage.decode(record) for record in records]
        output = self.stage.handle(batch, self.stage.view(batch))
        self._finish(output, fate, {place: records[-1].offset + 1})
        return True

    def chore(self, fate: Fate = "lives") -> bool:
        """One call of the stage's chore. Whether it did anything."""
        output = self.stage.chore()
        if output is None:
            return False
        if output.messages:
            assert output.places, "a chore with messages names no partitions: nothing would fence it"
            assert {partition for _, partition in output.places} <= set(self.stage.stores)
        self._finish(output, fate, {})
        return True

    def _finish(self, output: Output, fate: Fate, positions: dict[Place, int]) -> None:
        if fate == "dies":
            self.restart()
            return
        offsets = self._topics.commit(output.messages, int(self._clock() * 1000), "ledger", positions)
        if fate == "forgets":
            self.restart()
        else:
            self.stage.committed(output, offsets)

    def follow(self, most: int | None = None) -> bool:
        """So many events of the catalog into the table of works."""
        records = self._topics.read(CATALOG, self.stage.works.offset, most)
        changes = [
            (record.offset, record.timestamp, change)
            for record in records
            if (change := change_of_record(record.key, record.value)) is not None
        ]
        end = self._topics.end(CATALOG) if most is None or len(records) < most else records[-1].offset + 1
        if end == self.stage.works.offset:
            return False
        self.stage.works.apply(changes, end)
        return bool(records)

    def hear(self, most: int | None = None) -> bool:
        """So many overrides of each of its partitions. Whether there were any."""
        heard = [self._hear(partition, most) for partition in self.stage.stores]
        return any(heard)

    def _hear(self, partition: int, most: int | None) -> bool:
        records = self._topics.read(("overrides", partition), self._heard[partition], most)
        for record in records:
            self.stage.overrides.hear([(partition, record)])
            self._heard[partition] = record.offset + 1
        return bool(records)

    def work_off(self) -> bool:
        """All that it can do now."""
        busy = self.follow()
        busy |= self.hear()
        for partition in list(self.stage.stores):
            busy |= self.take(partition)
        while self.chore():
            busy = True
        return busy
