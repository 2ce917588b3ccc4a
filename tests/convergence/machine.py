"""Random histories: what comes in, who works on it when, and what goes wrong on the way."""

from __future__ import annotations

import sys
from typing import Final

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.convergence import library
from tests.convergence.arrivals import Arrivals
from tests.convergence.comparison import Difference, differences, fresh_run, said
from tests.convergence.ledgers import SWEEP_EVERY_H, Fate
from tests.convergence.library import Chance
from tests.convergence.tally import TALLY
from tests.convergence.topics import PARTITIONS

_FATES: Final = st.sampled_from(("lives", "lives", "lives", "lives", "dies", "forgets"))
_PARTITIONS: Final = st.integers(0, PARTITIONS - 1)
_WORKERS: Final = st.integers(0, 1)
_MOST: Final = st.sampled_from((1, 2, 5, None))
_STEPS: Final = ("parse", "references", "retries", "fallback", "ledger", "ledger", "chore", "follow")


class Histories(Arrivals):
    """What comes in, two workers of each kind to work on it, accidents, and the comparison at the end."""

    # Workers

    @rule(most=_MOST, fate=_FATES)
    def parse(self, most: int | None, fate: Fate) -> None:
        if self.pipeline.parse(most, "lives" if fate == "forgets" else fate):
            self.tell(f"the parser takes {most or 'all'} and {fate}")

    @rule(worker=_WORKERS, partition=_PARTITIONS, retries=st.booleans(), most=_MOST, fate=_FATES)
    def link(self, worker: int, partition: int, retries: bool, most: int | None, fate: Fate) -> None:
        topic = "retries" if retries else "references"
        if self.pipeline.link(worker, (topic, partition), most, "lives" if fate == "forgets" else fate):
            at = self.pipeline.linkers[worker].replica.catalog.offset
            self.tell(f"linker {worker} at catalog offset {at} takes {most or 'all'} of {topic} {partition} and {fate}")

    @rule(worker=_WORKERS, partition=_PARTITIONS, most=_MOST, fate=_FATES)
    def fall_back(self, worker: int, partition: int, most: int | None, fate: Fate) -> None:
        if self.pipeline.fall_back(worker, ("fallback", partition), most, "lives" if fate == "forgets" else fate):
            at = self.pipeline.fallbacks[worker].replica.catalog.offset
            self.tell(f"fallback {worker} at catalog offset {at} takes {most or 'all'} of {partition} and {fate}")

    @rule(worker=st.integers(0, 3), most=_MOST)
    def follow(self, worker: int, most: int | None) -> None:
        chosen = (*self.pipeline.linkers, *self.pipeline.fallbacks)[worker]
        if chosen.replica.follow(most):
            self.tell(f"{chosen.stage.name} {worker % 2} follows to catalog offset {chosen.replica.catalog.offset}")

    @rule(ledger=_WORKERS, most=_MOST)
    def ledger_follows(self, ledger: int, most: int | None) -> None:
        if self.pipeline.ledgers[ledger].follow(most):
            self.tell(f"ledger {ledger} follows to catalog offset {self.pipeline.ledgers[ledger].stage.works.offset}")

    @rule(ledger=_WORKERS, most=_MOST)
    def ledger_hears(self, ledger: int, most: int | None) -> None:
        if self.pipeline.ledgers[ledger].hear(most):
            self.tell(f"ledger {ledger} hears of overrides")

    @rule(partition=_PARTITIONS, most=_MOST, fate=_FATES)
    def ledger(self, partition: int, most: int | None, fate: Fate) -> None:
        if self.pipeline.ledger_of(partition).take(partition, most, fate):
            self.tell(f"the ledger of partition {partition} takes {most or 'all'} and {fate}")

    @rule(ledger=_WORKERS, fate=_FATES, times=st.integers(1, 3))
    def chore(self, ledger: int, fate: Fate, times: int) -> None:
        self.pipeline.clock.pass_(0.5)
        for _ in range(times):
            if self.pipeline.ledgers[ledger].chore(fate):
                self.tell(f"ledger {ledger} does a chore and {fate}")

    @rule(chance=library.chances, worker=_WORKERS, most=_MOST)
    def some_work(self, chance: Chance, worker: int, most: int | None) -> None:
        """A stretch without accidents, in which some get further than others."""
        steps = chance.steps(_STEPS)
        self.tell(f"some work, {most or 'all'} at a time: {', '.join(steps)}")
        pipeline = self.pipeline
        for step in steps:
            for partition in range(PARTITIONS):
                match step:
                    case "parse":
                        pipeline.parse(most)
                    case "references" | "retries":
                        pipeline.link(worker, (step, partition), most)
                    case "fallback":
                        pipeline.fall_back(worker, (step, partition), most)
                    case "ledger":
                        pipeline.ledger_of(partition).take(partition, most)
                    case "chore":
                        pipeline.clock.pass_(1.0)
                        pipeline.ledgers[partition].chore()
                    case "follow":
                        for each in (pipeline.linkers[worker], pipeline.fallbacks[worker]):
                            each.replica.follow(most)
                        pipeline.ledgers[worker].follow(most)
                        pipeline.ledgers[worker].hear(most)

    @rule()
    def drain(self) -> None:
        self.tell("everybody works until nothing is left")
        self.pipeline.drain()

    # Accidents

    @rule(partition=_PARTITIONS)
    def store_lost(self, partition: int) -> None:
        self.tell(f"the store of partition {partition} is lost")
        self.pipeline.ledger_of(partition).lose_store(partition)

    @rule(ledger=_WORKERS)
    def works_lost(self, ledger: int) -> None:
        self.tell(f"the table of works of ledger {ledger} is lost")
        self.pipeline.ledgers[ledger].lose_works()

    @rule(partition=_PARTITIONS)
    def move(self, partition: int) -> None:
        self.tell(f"partition {partition} moves to the other ledger")
        self.pipeline.move(partition)

    @rule()
    def compact(self) -> None:
        if gone := self.pipeline.compact():
            self.tell(f"compaction: {gone} records go")

    @rule()
    def replay(self) -> None:
        if number := self.pipeline.replay():
            self.tell(f"replay: {number} references are to be judged again")

    @rule(on=st.booleans())
    def sweep(self, on: bool) -> None:
        """From now on sweeps may begin, once a day, and a day passes; or they may not."""
        self.tell("a day passes, and sweeps may begin" if on else "no sweep may begin")
        self.swept |= on
        self.pipeline.sweep(on)
        self.pipeline.clock.pass_(SWEEP_EVERY_H * 3600 + 1)

    # The end

    def teardown(self) -> None:
        # Called as well when a step has failed, or when hypothesis gives the history up.
        if hasattr(self, "pipeline") and sys.exc_info()[0] is None:
            self.settle()

    def settle(self) -> None:
        """Everything is worked off; the links are those of a fresh run after the sweep, and mostly before."""
        pipeline = self.pipeline
        newest = list(self.versions.values())
        pipeline.sweep(False)
        pipeline.drain()
        self.check_catalog()
        fresh = fresh_run(newest, list(self.works.values()), self.overrides, self.encoder, pipeline.offered).links()
        before = None if self.swept else differences(pipeline.links(), fresh)
        pipeline.sweep(True)
        pipeline.clock.pass_(SWEEP_EVERY_H * 3600 + 1)
        pipeline.drain()
        after = differences(pipeline.links(), fresh)
        TALLY.take(pipeline, fresh, before, after)
        event(f"links moved or vanished: {'yes' if TALLY.last_moved else 'no'}")
        if after:
            raise AssertionError(self.report(after))

    def check_catalog(self) -> None:
        """What the ledger entered of papers is their newest version, whatever came when."""
        own = {key: version.paper.work() for key, version in self.versions.items() if version.paper is not None}
        should = {**self.works, **(own if self.pipeline.offered else {})}
        is_ = self.pipeline.catalog()
        if is_ != should:
            wrong = sorted(key for key in {*is_, *should} if is_.get(key) != should.get(key))
            lines = [f"{key}\n    is:        {is_.get(key)}\n    should be: {should.get(key)}" for key in wrong]
            raise AssertionError(self._with_history("the catalog is not what was told last:", lines))

    def report(self, found: list[Difference]) -> str:
        """What differs, and what led to it."""
        head = f"{len(found)} references are not as in a fresh run, after the sweep:"
        return self._with_history(head, [str(each) for each in found])

    def _with_history(self, head: str, lines: list[str]) -> str:
        history = [f"{number:4} {line}" for number, line in enumerate(self.told, start=1)]
        return "\n".join(["", head, *lines, "the history:", *history, "the links:", *self._links()])

    def _links(self) -> list[str]:
        return [f"  {key}: {said(link)}" for key, link in sorted(self.pipeline.links().items())]
