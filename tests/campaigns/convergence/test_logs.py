"""Ledgers that keep the newest changes publish the links of ledgers that keep all works, after the same history."""

from __future__ import annotations

import sys

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from reflink.entities import Paper, Work
from schemas import OverrideEvent
from tests.campaigns.convergence import library
from tests.campaigns.convergence.comparison import differences
from tests.campaigns.convergence.inputs import Inputs
from tests.campaigns.convergence.ledgers import SWEEP_EVERY_H
from tests.campaigns.convergence.library import Chance
from tests.campaigns.convergence.pipeline import Pipeline
from tests.campaigns.convergence.topics import PARTITIONS
from tests.profiles import examples
from tests.workers.ledger.changelogs import WholeLog
from workers.papers.stage import PaperVersion

_PARTITIONS = st.integers(0, PARTITIONS - 1)


class Both:
    """Sends the input to all pipelines."""

    def __init__(self, *pipelines: Pipeline) -> None:
        self.pipelines = pipelines

    def publish(self, citing: str, version: int, paper: Paper | None) -> PaperVersion:
        first, *_ = [each.publish(citing, version, paper) for each in self.pipelines]
        return first

    def load(self, work: Work) -> None:
        for each in self.pipelines:
            each.load(work)

    def withdraw_work(self, work_id: str) -> None:
        for each in self.pipelines:
            each.withdraw_work(work_id)

    def override(self, reference: str, event: OverrideEvent | None) -> None:
        for each in self.pipelines:
            each.override(reference, event)


class Twins(Inputs, RuleBasedStateMachine):
    """One history in pipelines whose ledgers keep all works, a short log, and the whole log."""

    @initialize(window=st.sampled_from((0, 4, 15)), chance=library.chances, works=st.integers(0, 6), papers=st.integers(1, 3))
    def begin(self, window: int, chance: Chance, works: int, papers: int) -> None:
        self.whole = Pipeline(log=WholeLog, wakes_per_s=500)
        self.others = [Pipeline(window=window, wakes_per_s=500), Pipeline(wakes_per_s=500)]
        self.both = self.destination = Both(self.whole, *self.others)
        for _ in range(works):
            self.load(chance.work())
        for _ in range(papers):
            self.paper(chance)

    @rule(follows=st.booleans(), links=st.booleans(), keeps=st.booleans())
    def work(self, follows: bool, links: bool, keeps: bool) -> None:
        """Let linkers and fallbacks follow the catalog, or link, or both; and the ledgers work."""
        self.record(f"work: {follows=} {links=} {keeps=}")
        for pipeline in self.both.pipelines:
            pipeline.parse()
            for worker in (*pipeline.linkers, *pipeline.fallbacks) if follows else ():
                worker.replica.follow()
            for partition in range(PARTITIONS) if links else ():
                for topic in ("references", "retries"):
                    pipeline.link(0, (topic, partition))
                pipeline.fall_back(0, ("fallback", partition))
            for ledger in pipeline.ledgers if keeps else ():
                ledger.work_off()
            pipeline.clock.advance(1.0)

    @rule(partition=_PARTITIONS, loses=st.booleans())
    def move_or_lose(self, partition: int, loses: bool) -> None:
        self.record(f"partition {partition}: {loses=}")
        for pipeline in self.both.pipelines:
            if loses:
                pipeline.ledger_of(partition).lose_store(partition)
            else:
                pipeline.move(partition)

    @rule(ledger=st.integers(0, 1))
    def lose_log(self, ledger: int) -> None:
        for pipeline in self.others:
            pipeline.ledgers[ledger].lose_log()

    def teardown(self) -> None:
        if not hasattr(self, "whole") or sys.exc_info()[0] is not None:
            return
        for pipeline in self.both.pipelines:
            pipeline.drain()
        expected = self.whole.links()
        for pipeline in self.others:  # without a sweep, each misses only what blocking keys miss
            found = differences(pipeline.links(), expected)
            assert not [each for each in found if each.in_target], "\n".join([*self.history, *map(str, found)])
        for pipeline in self.both.pipelines:
            pipeline.sweep(True)
            pipeline.clock.advance(SWEEP_EVERY_H * 3600 + 1)
            pipeline.drain()
        expected = self.whole.links()
        for pipeline in self.others:
            found = differences(pipeline.links(), expected)
            assert not found, "\n".join([*self.history, *map(str, found)])


def test_a_short_log_has_the_links_of_a_ledger_that_keeps_all_works():
    chosen = settings(
        max_examples=examples(120), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Twins, settings=chosen)
