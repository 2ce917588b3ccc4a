"""The flow with background tasks (``background_task``) against a model of the broker.

A background task is committed only by a worker whose stage knows all earlier commits of the partition. The state machine of
test_flow_guarantee.py is extended by:

1. a stage that handles one batch or background task at a time. It knows of a partition the offset that was committed when it
   processed the assignment, and its own commits since;
2. other workers that commit a transaction after they have lost the partition.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.profiles import examples
from tests.workers.runtime.test_flow_guarantee import PLACES, Broker, Guarantee, few, places
from tests.workers.simulated import take_events
from workers.records import Partition


@dataclass
class WithTasks(Broker):
    """A broker that also checks background tasks.

    ``positions`` holds, for the last task of a partition, the position that it commits and the position that its stage knew.
    """

    positions: dict[Partition, tuple[int, int]] = field(default_factory=dict)
    applied: set[Partition] = field(default_factory=set)
    #: The open transaction of another worker: its partition and offsets, which the broker has already accepted.
    late: tuple[Partition, list[int]] | None = None
    tasks: int = 0

    def apply(self, place: Partition, offsets: list[int]) -> None:
        self.applied.add(place)
        if offsets:
            super().apply(place, offsets)
            return
        self.tasks += 1
        sent, known = self.positions[place]
        assert sent == self.committed[place], "a background task moves the position"
        assert known == self.committed[place], "a background task of a stage that did not know what is committed"


class GuaranteeWithTasks(Guarantee):
    broker: WithTasks

    def __init__(self) -> None:
        super().__init__()
        self.broker = WithTasks()

    def _start(self) -> None:
        super()._start()
        self.known: dict[Partition, int] = {}  # the committed offsets that the poll and commit threads share
        self.seen: dict[Partition, int] = {}  # the committed offsets that the stage knows, by assigned partition
        self.doing: tuple[Partition, int] | None = None

    def _process_events(self) -> None:
        for kind, partitions in take_events(self.flow):
            for place in partitions:
                self.seen.pop(place, None)
                if kind == "assigned":
                    self.seen[place] = self.broker.committed[place]

    # Another worker

    @rule(place=places, count=few)
    def another_worker(self, place: Partition, count: int) -> None:
        if self.broker.late is not None and self.broker.late[0] == place:
            self.late_one_commits()
        super().another_worker(place, count)

    @rule(place=places, count=few)
    def another_is_late(self, place: Partition, count: int) -> None:
        if (place in self.position and not self.stolen) or place in self._pending() or self.broker.late is not None:
            return
        start = self.broker.committed[place]
        offsets = list(range(start, min(start + count, self.broker.written[place])))
        if offsets:
            self.broker.late = (place, offsets)

    @precondition(lambda self: self.broker.late is not None)
    @rule()
    def late_one_commits(self) -> None:
        assert self.broker.late is not None
        place, offsets = self.broker.late
        self.broker.late = None
        self.broker.apply(place, offsets)

    # The poll thread

    @precondition(lambda self: self.polled is None and self.seeking is None)
    @rule(place=places)
    def seek_begins(self, place: Partition) -> None:
        if self.broker.late is None or self.broker.late[0] != place:  # otherwise the committed offset is not stable
            super().seek_begins(place)

    @precondition(lambda self: self.seeking is not None)
    @rule()
    def seek_ends(self) -> None:
        assert self.seeking is not None
        place, _, offset = self.seeking
        if place in self.position:
            self.known[place] = offset
        super().seek_ends()

    # The compute thread

    @rule()
    def take(self) -> None:
        if not self.batches and self.doing is None:
            self._process_events()
            super().take()

    @precondition(lambda self: not self.batches and self.doing is None)
    @rule(place=places)
    def task_is_done(self, place: Partition) -> None:
        self._process_events()
        if place in self.seen:
            self.doing = (place, self.seen[place])

    @precondition(lambda self: self.doing is not None)
    @rule()
    def task_is_offered(self) -> None:
        assert self.doing is not None
        place, seen = self.doing
        self.doing = None
        batch = self.flow.background_batch([place], self.known)
        if batch is not None:
            self.batches.append(batch)
            self.broker.positions[place] = (batch.positions[place], seen)

    # Sequences that random rules rarely produce

    def _settle(self, place: Partition) -> None:
        """Make the worker own the partition, at its committed offset and known to the stage, with no batch in flight."""
        self._end_removal()
        if self.polled is not None:
            self.poll_returns()
        if self.seeking is not None:
            self.seek_ends()
        while self.batches:
            self._open_transaction(1)
            if self.transaction is not None:
                self._end_transaction(True, known=True)
        self.doing = None
        self.assign(place)
        self.seek_undisturbed()
        self._process_events()

    @rule(place=places, count=few, disturbance=st.sampled_from(["none", "leaves", "comes back", "other", "aborted", "unknown"]))
    def task_is_disturbed(self, place: Partition, count: int, disturbance: str) -> None:
        """Disturb a background task: by a failed transaction before it is done, or by a rebalance before it is offered."""
        self._settle(place)
        if disturbance in ("aborted", "unknown"):
            self.poll_undisturbed((count,) * len(PLACES), 1)
            if self.batches and self.transaction is None:
                self._open_transaction(1)
                if self.transaction is not None:
                    self._end_transaction(disturbance == "unknown", known=disturbance == "aborted")
        self.task_is_done(place)
        if disturbance == "leaves":
            self.revoke_without_time(place)
            self.another_worker(place, count)
        elif disturbance == "comes back":
            self.leave_and_come_back(place, count)
            self.seek_undisturbed()
        elif disturbance == "other":
            self.leave_and_come_back(PLACES[PLACES.index(place) - 1], count)
        if self.doing is not None:
            self.task_is_offered()

    @rule(place=places, count=few, early=st.booleans())
    def taken_over_from_a_late_one(self, place: Partition, count: int, early: bool) -> None:
        self._settle(place)
        self.revoke_without_time(place)
        self.another_is_late(place, count)
        self.assign(place)
        if early:
            self.seek_undisturbed()
            self._process_events()
        if self.broker.late is not None:
            self.late_one_commits()
        self.seek_undisturbed()
        self.task_is_done(place)
        if self.doing is not None:
            self.task_is_offered()

    # The commit thread

    def _end_transaction(self, works: bool, *, known: bool) -> None:
        transaction = self.transaction
        assert transaction is not None
        self.broker.applied.clear()
        super()._end_transaction(works, known=known)
        if self.broker.applied and known:
            for place in self.broker.applied:
                self.known[place] = self.broker.committed[place]
                if place in self.seen:
                    self.seen[place] = self.broker.committed[place]
        elif transaction.current:
            self.flow.resume(renew=not known)

    def teardown(self) -> None:
        if self.broker.late is not None:
            self.late_one_commits()
        if self.doing is not None:
            self.task_is_offered()
        super().teardown()


TestGuaranteeWithTasks = GuaranteeWithTasks.TestCase
TestGuaranteeWithTasks.settings = settings(
    max_examples=examples(150), stateful_step_count=80, suppress_health_check=list(HealthCheck)
)
