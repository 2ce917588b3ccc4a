"""The flow with chores against a model of the broker: each is committed by a worker that knows all that was committed before.

The machine of test_flow_guarantee.py, with a stage that handles one thing at a time and knows of a partition what was committed
when it heard of it, and what it has committed itself; and with other workers that commit later than they were told to go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.workers.test_flow_guarantee import PLACES, Broker, Guarantee, few, places
from workers.stage import Place


@dataclass
class Chored(Broker):
    """A chore's ``said`` are the position that it sent along and the one that its stage knew."""

    said: dict[Place, tuple[int, int]] = field(default_factory=dict)
    applied: set[Place] = field(default_factory=set)
    #: What another worker has in a transaction, its offsets accepted already.
    late: tuple[Place, list[int]] | None = None
    chores: int = 0

    def apply(self, place: Place, offsets: list[int]) -> None:
        self.applied.add(place)
        if offsets:
            super().apply(place, offsets)
            return
        self.chores += 1
        sent, known = self.said[place]
        assert sent == self.committed[place], "a chore moves the position"
        assert known == self.committed[place], "a chore of a stage that did not know what is committed"


class WithChores(Guarantee):
    broker: Chored

    def __init__(self) -> None:
        super().__init__()
        self.broker = Chored()

    def _start(self) -> None:
        super()._start()
        self.known: dict[Place, int] = {}  # the positions that poll and commit thread share
        self.seen: dict[Place, int] = {}  # what the stage knows, of its partitions
        self.doing: tuple[Place, int] | None = None

    def _hear(self) -> None:
        for kind, told in self.flow.news():
            for place in told:
                self.seen.pop(place, None)
                if kind == "assigned":
                    self.seen[place] = self.broker.committed[place]

    # Another worker

    @rule(place=places, count=few)
    def another_worker(self, place: Place, count: int) -> None:
        if self.broker.late is not None and self.broker.late[0] == place:
            self.late_one_commits()
        super().another_worker(place, count)

    @rule(place=places, count=few)
    def another_is_late(self, place: Place, count: int) -> None:
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
    def seek_begins(self, place: Place) -> None:
        if self.broker.late is None or self.broker.late[0] != place:  # else there is no stable offset
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
            self._hear()
            super().take()

    @precondition(lambda self: not self.batches and self.doing is None)
    @rule(place=places)
    def chore_is_done(self, place: Place) -> None:
        self._hear()
        if place in self.seen:
            self.doing = (place, self.seen[place])

    @precondition(lambda self: self.doing is not None)
    @rule()
    def chore_is_offered(self) -> None:
        assert self.doing is not None
        place, seen = self.doing
        self.doing = None
        batch = self.flow.chore([place], self.known)
        if batch is not None:
            self.batches.append(batch)
            self.broker.said[place] = (batch.positions[place], seen)

    # What happens by chance too seldom

    def _settle(self, place: Place) -> None:
        """Ours, read from where it is committed, heard of, and nothing in flight."""
        if self.stolen:
            self.hear_of_it()
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
        self._hear()

    @rule(place=places, count=few, disturbance=st.sampled_from(["none", "leaves", "comes back", "other", "aborted", "unknown"]))
    def chore_is_disturbed(self, place: Place, count: int, disturbance: str) -> None:
        """Between doing and offering it."""
        self._settle(place)
        if disturbance in ("aborted", "unknown"):
            self.poll_undisturbed((count,) * len(PLACES), 1)
            if self.batches and self.transaction is None:
                self._open_transaction(1)
                if self.transaction is not None:
                    self._end_transaction(disturbance == "unknown", known=disturbance == "aborted")
        self.chore_is_done(place)
        if disturbance == "leaves":
            self.revoke_without_time(place)
            self.another_worker(place, count)
        elif disturbance == "comes back":
            self.leave_and_come_back(place, count)
            self.seek_undisturbed()
        elif disturbance == "other":
            self.leave_and_come_back(PLACES[PLACES.index(place) - 1], count)
        if self.doing is not None:
            self.chore_is_offered()

    @rule(place=places, count=few, early=st.booleans())
    def taken_over_from_a_late_one(self, place: Place, count: int, early: bool) -> None:
        self._settle(place)
        self.revoke_without_time(place)
        self.another_is_late(place, count)
        self.assign(place)
        if early:
            self.seek_undisturbed()
            self._hear()
        if self.broker.late is not None:
            self.late_one_commits()
        self.seek_undisturbed()
        self.chore_is_done(place)
        if self.doing is not None:
            self.chore_is_offered()

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
            self.chore_is_offered()
        super().teardown()


WithChores.TestCase.settings = settings(
    max_examples=150, stateful_step_count=80, deadline=None, suppress_health_check=list(HealthCheck)
)
TestWithChores = WithChores.TestCase
