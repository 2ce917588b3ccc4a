"""Random histories: the input, the order in which workers process it, and the failures meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import ClassVar, Final

from hypothesis import event, note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.campaigns.convergence import library
from tests.campaigns.convergence.comparison import differences, fresh_run, outcome_line
from tests.campaigns.convergence.inputs import Inputs
from tests.campaigns.convergence.ledgers import SWEEP_EVERY_H, Fate
from tests.campaigns.convergence.library import Chance
from tests.campaigns.convergence.pipeline import Pipeline
from tests.campaigns.convergence.replicas import WordEncoder
from tests.campaigns.convergence.tally import TALLY, Tally
from tests.campaigns.convergence.topics import PARTITIONS

_FATES: Final = st.sampled_from((*["commits"] * 4, "crashes", "commits and crashes"))
#: Fates of a worker without state of its own: it makes no difference whether such a worker crashes after the commit.
_STATELESS_FATES: Final = st.sampled_from((*["commits"] * 5, "crashes"))
_PARTITIONS: Final = st.integers(0, PARTITIONS - 1)
_WORKERS: Final = st.integers(0, 1)
_LIMIT: Final = st.sampled_from((1, 2, 5, None))
_STEPS: Final = ("parse", "references", "retries", "fallback", "ledger", "ledger", "background task", "follow")


class Histories(Inputs, RuleBasedStateMachine):
    """The input, two workers of each kind that process it, failures, and the comparison at the end."""

    tally: ClassVar[Tally] = TALLY

    @initialize(
        semantic=st.booleans(),
        offered=st.booleans(),
        wakes=st.sampled_from((1.0, 5.0, 500.0)),
        chance=library.chances,
        works=st.integers(1, 6),
        papers=st.integers(1, 3),
        window=st.sampled_from((0, 3, 20, 1_000_000)),
    )
    def begin(self, semantic: bool, offered: bool, wakes: float, chance: Chance, works: int, papers: int, window: int) -> None:
        self.encoder = WordEncoder() if semantic else None
        self.destination = self.pipeline = Pipeline(encoder=self.encoder, offered=offered, wakes_per_s=wakes, window=window)
        #: Whether sweeps were ever allowed before the end.
        self.swept = False
        stages = "with a semantic stage" if semantic else "without a semantic stage"
        self.record(
            f"{stages}; papers are {'' if offered else 'not '}works; {wakes:g} re-evaluations a second; a log of {window:,}"
        )
        for _ in range(works):
            self.load(chance.work())
        for _ in range(papers):
            self.paper(chance)

    def record(self, line: str) -> None:
        super().record(line)
        note(line)

    # Input that depends on the pipeline

    @rule(paper=st.sampled_from(library.PAPERS))
    def paper_comes_twice(self, paper: str) -> None:
        if (known := self.versions.get(paper)) is not None:
            self.record(f"paper {paper} version {known.version} again")
            self.pipeline.publish(known.citing, known.version, known.paper)

    @rule(chance=library.chances)
    def work_comes_twice(self, chance: Chance) -> None:
        if self.works:
            self.load(self.works[chance.one_of(sorted(self.works))])

    @rule(chance=library.chances)
    def forbid_linked_work(self, chance: Chance) -> None:
        linked = sorted((key, link.link.cited) for key, link in self.pipeline.links().items() if link.link.cited)
        if linked:
            reference, cited = chance.one_of(linked)
            before = self.overrides.get(reference)
            forbidden = before.forbidden if before is not None else ()
            self.decide(reference, forbidden=tuple(dict.fromkeys((*forbidden, cited or ""))))

    # Workers

    @rule(limit=_LIMIT, fate=_STATELESS_FATES)
    def parse(self, limit: int | None, fate: Fate) -> None:
        if self.pipeline.parse(limit, fate):
            self.record(f"parser: {limit or 'all'}, {fate}")

    @rule(worker=_WORKERS, partition=_PARTITIONS, retries=st.booleans(), limit=_LIMIT, fate=_STATELESS_FATES)
    def link(self, worker: int, partition: int, retries: bool, limit: int | None, fate: Fate) -> None:
        topic = "retries" if retries else "references"
        if self.pipeline.link(worker, (topic, partition), limit, fate):
            at = self.pipeline.linkers[worker].replica.catalog.offset
            self.record(f"linker {worker} at catalog offset {at}: {limit or 'all'} of {topic} {partition}, {fate}")

    @rule(worker=_WORKERS, partition=_PARTITIONS, limit=_LIMIT, fate=_STATELESS_FATES)
    def fall_back(self, worker: int, partition: int, limit: int | None, fate: Fate) -> None:
        if self.pipeline.fall_back(worker, ("fallback", partition), limit, fate):
            at = self.pipeline.fallbacks[worker].replica.catalog.offset
            self.record(f"fallback {worker} at catalog offset {at}: {limit or 'all'} of {partition}, {fate}")

    @rule(worker=st.integers(0, 3), limit=_LIMIT)
    def follow(self, worker: int, limit: int | None) -> None:
        chosen = (*self.pipeline.linkers, *self.pipeline.fallbacks)[worker]
        if chosen.replica.follow(limit):
            self.record(f"{chosen.stage.name} {worker % 2} follows to catalog offset {chosen.replica.catalog.offset}")

    @rule(ledger=_WORKERS, limit=_LIMIT)
    def ledger_follows(self, ledger: int, limit: int | None) -> None:
        if self.pipeline.ledgers[ledger].follow(limit):
            self.record(f"ledger {ledger} follows to catalog offset {self.pipeline.ledgers[ledger].stage.catalog.offset}")

    @rule(ledger=_WORKERS, limit=_LIMIT)
    def ledger_reads_overrides(self, ledger: int, limit: int | None) -> None:
        if self.pipeline.ledgers[ledger].read_overrides(limit):
            self.record(f"ledger {ledger} reads {limit or 'all'} overrides")

    @rule(partition=_PARTITIONS, limit=_LIMIT, fate=_FATES)
    def ledger(self, partition: int, limit: int | None, fate: Fate) -> None:
        if self.pipeline.ledger_of(partition).take(partition, limit, fate):
            self.record(f"ledger of partition {partition}: {limit or 'all'}, {fate}")

    @rule(ledger=_WORKERS, fate=_FATES, times=st.integers(1, 3))
    def background_task(self, ledger: int, fate: Fate, times: int) -> None:
        self.pipeline.clock.advance(0.5)
        for _ in range(times):
            if self.pipeline.ledgers[ledger].background_task(fate):
                self.record(f"ledger {ledger}: background task, {fate}")

    @rule(chance=library.chances, worker=_WORKERS, limit=_LIMIT)
    def several_steps(self, chance: Chance, worker: int, limit: int | None) -> None:
        """Process for a while without failures; some workers get further than others."""
        steps = chance.steps(_STEPS)
        self.record(f"steps, {limit or 'all'} at a time: {', '.join(steps)}")
        pipeline = self.pipeline
        for step in steps:
            for partition in range(PARTITIONS):
                match step:
                    case "parse":
                        pipeline.parse(limit)
                    case "references" | "retries":
                        pipeline.link(worker, (step, partition), limit)
                    case "fallback":
                        pipeline.fall_back(worker, (step, partition), limit)
                    case "ledger":
                        pipeline.ledger_of(partition).take(partition, limit)
                    case "background task":
                        pipeline.clock.advance(1.0)
                        pipeline.ledgers[partition].background_task()
                    case "follow":
                        for each in (pipeline.linkers[worker], pipeline.fallbacks[worker]):
                            each.replica.follow(limit)
                        pipeline.index(worker, limit)
                        pipeline.ledgers[worker].follow(limit)
                        pipeline.ledgers[worker].read_overrides(limit)

    @rule()
    def drain(self) -> None:
        self.record("all workers work until nothing is left")
        self.pipeline.drain()

    # Failures and operations

    @rule(partition=_PARTITIONS)
    def store_lost(self, partition: int) -> None:
        self.record(f"the store of partition {partition} is lost")
        self.pipeline.ledger_of(partition).lose_store(partition)

    @rule(ledger=_WORKERS)
    def log_lost(self, ledger: int) -> None:
        self.record(f"the log of changes of ledger {ledger} is lost")
        self.pipeline.ledgers[ledger].lose_log()

    @rule(partition=_PARTITIONS)
    def move(self, partition: int) -> None:
        self.record(f"partition {partition} moves to the other ledger")
        self.pipeline.move(partition)

    @rule()
    def compact(self) -> None:
        if removed := self.pipeline.compact():
            self.record(f"compaction removes {removed} records")

    @rule()
    def replay(self) -> None:
        if number := self.pipeline.replay():
            self.record(f"replay of {number} references")

    @rule(on=st.booleans())
    def sweep(self, on: bool) -> None:
        """Allow sweeps, once a day, or forbid them; then let a day pass."""
        self.record("a day passes, and sweeps may begin" if on else "no sweep may begin")
        self.swept |= on
        self.pipeline.sweep(on)
        self.pipeline.clock.advance(SWEEP_EVERY_H * 3600 + 1)

    # The end

    def teardown(self) -> None:
        # Hypothesis calls this also when a step has failed, or when it abandons the history.
        if hasattr(self, "pipeline") and sys.exc_info()[0] is None:
            self.settle()

    def settle(self) -> None:
        """Process everything; the links must equal those of a fresh run after the sweep, and mostly do so before it."""
        pipeline = self.pipeline
        newest = list(self.versions.values())
        pipeline.sweep(False)
        pipeline.drain()
        self.check_catalog()
        works = list(self.works.values())
        fresh = fresh_run(newest, works, self.overrides, self.encoder, pipeline.offered, pipeline.hits).links()
        before = None if self.swept else differences(pipeline.links(), fresh)
        pipeline.sweep(True)
        pipeline.clock.advance(SWEEP_EVERY_H * 3600 + 1)
        pipeline.drain()
        after = differences(pipeline.links(), fresh)
        self.tally.add(pipeline, fresh, before, after)
        event(f"links moved or vanished: {'yes' if self.tally.last_moved else 'no'}")
        if after:
            raise self.failure(f"after the sweep, {len(after)} references differ from a fresh run:", map(str, after))

    def check_catalog(self) -> None:
        """Check that the catalog contains the newest version of each paper and work, in any order of arrival."""
        own = {key: version.paper.work() for key, version in self.versions.items() if version.paper is not None}
        expected = {**self.works, **(own if self.pipeline.offered else {})}
        found = self.pipeline.catalog()
        if found != expected:
            wrong = sorted(key for key in {*found, *expected} if found.get(key) != expected.get(key))
            lines = [f"{key}\n    found:    {found.get(key)}\n    expected: {expected.get(key)}" for key in wrong]
            raise self.failure("the catalog differs from the newest input:", lines)

    def failure(self, head: str, lines: Iterable[str]) -> AssertionError:
        """Return an error with the differences, the history and the links."""
        history = [f"{number:4} {line}" for number, line in enumerate(self.history, start=1)]
        links = [f"  {key}: {outcome_line(link)}" for key, link in sorted(self.pipeline.links().items())]
        return AssertionError("\n".join(["", head, *lines, "the history:", *history, "the links:", *links]))
