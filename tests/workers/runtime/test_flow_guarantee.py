"""The flow against a model of the broker: each record is committed exactly once and in order, for any sequence of events.

The model has these guarantees of Kafka:

1. A partition has one committed offset, and one owner at a time.
2. A transaction applies as a whole or not at all.
3. A partition gets no new owner while a transaction on it is open.
4. The broker fences the offsets of a transaction by member id and generation, if the client sends them.

It also has two faults of kafka-python:

5. The client of a removed member reports neither a member id nor a generation.
6. A removed member may be in its group again without a call of ``on_partitions_lost``.

Polling, seeking back and committing are divided into the steps between which a rebalance may occur in the worker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kafka import ConsumerGroupMetadata

from tests.profiles import examples
from tests.workers.simulated import take_events
from workers.records import Partition, Received
from workers.runtime.batching import Batch, BatchPolicy
from workers.runtime.flow import Flow
from workers.runtime.record_queue import Background

PLACES: list[Partition] = [("references", 0), ("references", 1), ("retries", 0)]
places = st.sampled_from(PLACES)
few = st.integers(1, 4)
NO_MEMBER = ConsumerGroupMetadata("group", -1, "", None)
#: Rarely True, for rules that undo all work: applied often, they would leave no work to check.
seldom = st.integers(0, 5).map(lambda number: number == 5)


@dataclass
class Broker:
    """The topics and the group, as the broker has them."""

    written: dict[Partition, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))
    committed: dict[Partition, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))
    results: dict[Partition, list[int]] = field(default_factory=lambda: {place: [] for place in PLACES})

    #: The membership of the worker under test; None if it is not a member.
    membership: ConsumerGroupMetadata | None = None
    generation: int = 0

    def admit(self) -> ConsumerGroupMetadata:
        """Begin the group's next generation with the worker under test, with its member id or with a new one."""
        self.generation += 1
        member = self.membership.member_id if self.membership else f"member-{self.generation}"
        self.membership = ConsumerGroupMetadata("group", self.generation, member, None)
        return self.membership

    def remove(self) -> None:
        """Begin the group's next generation without the worker under test."""
        self.generation += 1
        self.membership = None

    def accepts(self, membership: ConsumerGroupMetadata) -> bool:
        """Return whether the broker accepts the offsets of a transaction with this membership."""
        return membership in (NO_MEMBER, self.membership)

    def apply(self, place: Partition, offsets: list[int]) -> None:
        self.results[place] += offsets
        self.committed[place] = offsets[-1] + 1


@dataclass
class Transaction:
    """A commit of the batches in ``group``. Only the batches in ``current`` are in its transaction."""

    group: list[Batch]
    current: list[Batch]
    checked: bool = False

    def places(self) -> set[Partition]:
        return {place for batch in self.current for place in batch.positions}


class Guarantee(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.broker = Broker()
        self._start()

    def _start(self) -> None:
        #: The records of ``retries`` below this offset are ready.
        self.ready_below = 0
        behind = Background(frozenset({"retries"}), lambda record, _: record.offset < self.ready_below)
        self.flow = Flow(BatchPolicy(records=3, linger_s=0), background=behind)
        self.position: dict[Partition, int] = {}  # by partition that the consumer believes it owns
        self.stolen = False  # the group removed the worker, and the flow does not know it yet
        self.joining = False  # after such a removal: JoinGroup has returned, SyncGroup has not
        self.live = NO_MEMBER  # the membership that the client reports
        self.broker.remove()
        self.polled: list[Received] | None = None
        self.seeking: tuple[Partition, int, int] | None = None
        self.batches: list[Batch] = []
        self.transaction: Transaction | None = None

    def _pending(self) -> set[Partition]:
        return self.transaction.places() if self.transaction else set()

    # The environment

    @initialize(counts=st.tuples(*[st.integers(0, 6)] * len(PLACES)))
    def begin(self, counts: tuple[int, ...]) -> None:
        self.broker.written = dict(zip(PLACES, counts, strict=True))

    @rule(count=few)
    def produce(self, count: int) -> None:
        for place in PLACES:
            self.broker.written[place] += count

    @rule(count=few)
    def more_is_ready(self, count: int) -> None:
        self.ready_below += count

    @rule(place=places, count=few)
    def another_worker(self, place: Partition, count: int) -> None:
        if (place in self.position and not self.stolen) or place in self._pending():
            return
        start = self.broker.committed[place]
        offsets = list(range(start, min(start + count, self.broker.written[place])))
        if offsets:
            self.broker.apply(place, offsets)

    # Rebalances

    def _next_generation(self) -> None:
        self.live = self.broker.admit()
        self.flow.partitions.join(self.live, self.position, continued=True)

    @rule()
    def assign_all(self) -> None:
        for place in PLACES:
            self.assign(place)

    @rule(place=places)
    def assign(self, place: Partition) -> None:
        self.assign_unannounced(place, 0)

    @rule(place=places, early=few)
    def assign_unannounced(self, place: Partition, early: int) -> None:
        """Assign the partition before the listener is called: a poll in between may return ``early`` records of it."""
        if place in self.position or self.stolen or place in self._pending():
            return
        self._next_generation()
        self.position[place] = self.broker.committed[place]
        if early and self.polled is not None:
            self.poll_fetches(place, early)
        elif early and self.seeking is None:
            self.poll_begins()
            self.poll_fetches(place, early)
            self.poll_returns()
        self.flow.partitions.assign([place])

    @rule(place=places)
    def revoke_without_time(self, place: Partition) -> None:
        if place not in self.position or self.stolen:
            return
        self._next_generation()
        busy = any(place in batch.positions for batch in self.batches)
        assert self.flow.partitions.revoke([place], 0) is not busy
        del self.position[place]

    @rule(place=places, count=few)
    def leave_and_come_back(self, place: Partition, count: int) -> None:
        self.revoke_without_time(place)
        self.another_worker(place, count)
        self.assign(place)

    @rule(place=places, works=st.booleans())
    def revoke_and_finish(self, place: Partition, works: bool) -> None:
        if place not in self.position or self.stolen:
            return
        self._next_generation()
        answers: list[bool] = []
        thread = threading.Thread(target=lambda: answers.append(self.flow.partitions.revoke([place], 30)))
        thread.start()
        while place in self.flow.partitions.owned():
            time.sleep(0)
        while any(place in batch.positions for batch in self.batches):
            self._open_transaction(1)
            self._end_transaction(works, known=True)
        thread.join(30)
        assert answers == [True]
        del self.position[place]

    @precondition(lambda self: self.position and not self.stolen)
    @rule(now=seldom)
    def others_take_over(self, now: bool) -> None:
        if now:
            self.stolen = True
            self.broker.remove()

    @precondition(lambda self: self.stolen and not self.joining)
    @rule()
    def heartbeat_is_refused(self) -> None:
        self.live = NO_MEMBER

    @precondition(lambda self: self.stolen and not self.joining)
    @rule()
    def removal_is_known(self) -> None:
        self.live = NO_MEMBER
        self.flow.partitions.lose(list(self.position))
        self.position.clear()
        self.stolen = False

    @precondition(lambda self: self.stolen and not self.joining)
    @rule()
    def rejoin_before_the_removal_is_known(self) -> None:
        """Lose the membership between JoinGroup and SyncGroup: kafka-python joins again without calling the listener."""
        self.live = self.broker.admit()
        self.joining = True

    @precondition(lambda self: self.joining)
    @rule(kept=st.sets(places))
    def assignment_comes(self, kept: set[Partition]) -> None:
        """Call the listener for partitions that are not assigned again. The consumer keeps its old positions of the others."""
        self._assigned_again(kept & self.position.keys())
        for place in self.position.keys() - kept:
            self.flow.partitions.revoke([place], 0)
            del self.position[place]
        self.joining = self.stolen = False

    def _assigned_again(self, kept: set[Partition]) -> None:
        self.flow.partitions.join(self.live, kept, continued=False)

    @precondition(lambda self: self.batches and self.transaction is None and self.position and not self.stolen)
    @rule(place=places, count=few, joins=st.booleans(), kept=st.sets(places))
    def removed_with_a_batch_in_flight(self, place: Partition, count: int, joins: bool, kept: set[Partition]) -> None:
        """Remove the worker, let another worker continue, and commit the batch before the flow knows of the removal."""
        self.others_take_over(True)
        self.another_worker(place, count)
        self.heartbeat_is_refused()
        if joins:
            self.rejoin_before_the_removal_is_known()
        self._open_transaction(1)
        if self.transaction is not None:
            self._end_transaction(True, known=True)
        if joins:
            self.assignment_comes(kept)

    def _end_removal(self) -> None:
        if self.joining:
            self.assignment_comes(set())
        elif self.stolen:
            self.removal_is_known()

    @rule(now=seldom)
    def restart(self, now: bool) -> None:
        if now:
            self.flow.abandon()
            assert self.flow.take(0) is None
            self._start()

    # The poll thread

    @precondition(lambda self: self.polled is None and self.seeking is None)
    @rule()
    def poll_begins(self) -> None:
        self.polled = []

    @precondition(lambda self: self.polled is not None)
    @rule(place=places, count=few)
    def poll_fetches(self, place: Partition, count: int) -> None:
        assert self.polled is not None
        if place in self.position:
            start = self.position[place]
            end = min(start + count, self.broker.written[place])
            self.polled.extend(Received(*place, offset, None, b"", (), 0) for offset in range(start, end))
            self.position[place] = max(start, end)

    @rule(place=places, count=few)
    def consumer_goes_back(self, place: Partition, count: int) -> None:
        """kafka-python takes the log for truncated, or the offset for out of range."""
        if place in self.position:
            self.position[place] = max(0, self.position[place] - count)

    @precondition(lambda self: self.polled is None and self.seeking is None)
    @rule(counts=st.tuples(*[st.integers(0, 3)] * len(PLACES)), taken=st.integers(0, 2))
    def poll_undisturbed(self, counts: tuple[int, ...], taken: int) -> None:
        self.poll_begins()
        for place, count in zip(PLACES, counts, strict=True):
            self.poll_fetches(place, count)
        self.poll_returns()
        for _ in range(taken):
            self.take()

    @precondition(lambda self: self.polled is not None)
    @rule()
    def poll_returns(self) -> None:
        assert self.polled is not None
        for place, (_, following) in self.flow.offer(self.polled).items():
            if place in self.position:
                self.position[place] = following
        self.polled = None

    @precondition(lambda self: self.polled is None and self.seeking is None)
    @rule(place=places)
    def seek_begins(self, place: Partition) -> None:
        if place in self.flow.partitions.to_seek_back():
            departures = self.flow.partitions.departures()
            self.seeking = (place, departures, self.broker.committed[place])

    @precondition(lambda self: self.polled is None and self.seeking is None)
    @rule()
    def seek_undisturbed(self) -> None:
        for place in PLACES:
            self.seek_begins(place)
            if self.seeking is not None:
                self.seek_ends()

    @precondition(lambda self: self.polled is None and self.seeking is None)
    @rule(count=few)
    def seek_disturbed(self, count: int) -> None:
        for place in PLACES:
            self.seek_begins(place)
            if self.seeking is not None:
                self.leave_and_come_back(place, count)
                self.seek_ends()

    @precondition(lambda self: self.seeking is not None)
    @rule()
    def seek_ends(self) -> None:
        assert self.seeking is not None
        place, departures, offset = self.seeking
        self.seeking = None
        if place in self.position:
            self.position[place] = offset
            self.flow.partitions.sought_back(place, departures, offset)

    @precondition(lambda self: self.polled is None and self.seeking is None and not self.stolen)
    @rule()
    def idle_commit(self) -> None:
        if self.flow.idle():
            for place in self.position.keys() - self.flow.held():
                assert self.position[place] <= self.broker.committed[place], "an idle worker would commit past what it handled"

    # The compute thread

    @rule()
    def take(self) -> None:
        take_events(self.flow)
        batch = self.flow.take(0)
        if batch is not None:
            assert not self.batches or batch.number > self.batches[-1].number
            self.batches.append(batch)

    # The commit thread

    @precondition(lambda self: self.batches and self.transaction is None)
    @rule(count=few)
    def transaction_opens(self, count: int) -> None:
        self._open_transaction(count)

    @precondition(lambda self: self.batches and self.transaction is None)
    @rule(place=places, count=few)
    def transaction_outlasts_a_revocation(self, place: Partition, count: int) -> None:
        self._open_transaction(count)
        if self.transaction is not None:
            self._check_transaction()
        self.revoke_without_time(place)
        if self.polled is None and self.seeking is None:
            self.seek_undisturbed()

    @precondition(lambda self: self.transaction is not None)
    @rule()
    def transaction_is_checked(self) -> None:
        self._check_transaction()

    @precondition(lambda self: self.transaction is not None)
    @rule(works=st.booleans(), known=st.booleans())
    def transaction_ends(self, works: bool, known: bool) -> None:
        self._end_transaction(works, known=known)

    def _open_transaction(self, count: int) -> None:
        if self.transaction is not None:
            return
        group = self.batches[:count]
        current = [batch for batch in group if self.flow.current(batch)]
        self.transaction = Transaction(group, current)
        membership = self._membership(current)
        if current and (membership is None or not self.broker.accepts(membership)):
            self._end_transaction(False, known=True)

    def _membership(self, batches: Sequence[Batch]) -> ConsumerGroupMetadata | None:
        """Return the membership that is sent with the offsets of these batches."""
        return self.flow.membership(batches)

    def _check_transaction(self) -> None:
        assert self.transaction is not None
        if not all(self.flow.current(batch) for batch in self.transaction.current):
            self._end_transaction(False, known=True)
        else:
            self.transaction.checked = True

    def _end_transaction(self, works: bool, *, known: bool) -> None:
        """End the transaction, with success if it ``works``. With ``known`` False the response is lost."""
        transaction = self.transaction
        assert transaction is not None
        if works and not transaction.checked:
            self._check_transaction()
            if self.transaction is None:
                return
        if works:
            for batch in transaction.current:
                for place in batch.positions:
                    offsets = [each.offset for each in batch.records if (each.topic, each.partition) == place]
                    self.broker.apply(place, offsets)
        if transaction.current and not (works and known):
            self.flow.discard()
        self.transaction = None
        for batch in transaction.group:
            self.flow.done(batch)
        del self.batches[: len(transaction.group)]

    # The guarantee

    @invariant()
    def once_and_in_order(self) -> None:
        for place in PLACES:
            assert self.broker.results[place] == list(range(self.broker.committed[place]))

    def teardown(self) -> None:
        """Check that the worker commits all records once nothing disturbs it: none is lost, and it is not stuck."""
        self.ready_below = 10**6
        self._end_removal()
        for _ in range(400):  # enough for all records that 80 steps can produce, in batches of three
            for place in PLACES:
                self.assign(place)
            if self.polled is None and self.seeking is None:
                self.poll_begins()
            if self.polled is not None:
                for place in PLACES:
                    self.poll_fetches(place, 100)
                self.poll_returns()
            for place in PLACES:
                if self.seeking is None:
                    self.seek_begins(place)
                if self.seeking is not None:
                    self.seek_ends()
            self.take()
            if self.batches:
                self._open_transaction(4)
            if self.transaction:
                self._end_transaction(True, known=True)
            self.once_and_in_order()
            if self.broker.committed == self.broker.written and self.flow.idle():
                return
        raise AssertionError(f"stuck at {self.broker.committed} of {self.broker.written}")


Guarantee.TestCase.settings = settings(
    max_examples=examples(300), stateful_step_count=80, suppress_health_check=list(HealthCheck)
)
TestGuarantee = Guarantee.TestCase


class WithLiveMembership(Guarantee):
    """A broken rule: the worker commits with the membership that the client reports at the commit."""

    def _membership(self, batches: Sequence[Batch]) -> ConsumerGroupMetadata | None:
        return self.live


class WithoutLosses(Guarantee):
    """A broken rule: the worker learns of lost partitions from the listener only."""

    def _assigned_again(self, kept: set[Partition]) -> None:
        self.flow.partitions.join(self.live, kept, continued=True)


def removed_and_refused(machine: Guarantee, place: Partition) -> None:
    """Let the client learn of its removal while its batch is handled."""
    machine.others_take_over(True)
    machine.another_worker(place, 2)
    machine.heartbeat_is_refused()
    machine.transaction_opens(1)


def rejoined_unnoticed(machine: Guarantee, place: Partition) -> None:
    """Let the client join again, and get the partition again, while its batch is handled."""
    machine.others_take_over(True)
    machine.another_worker(place, 2)
    machine.rejoin_before_the_removal_is_known()
    machine.assignment_comes({place})
    machine.transaction_opens(1)


@pytest.mark.parametrize(
    ("rule_broken", "history"), [(WithLiveMembership, removed_and_refused), (WithoutLosses, rejoined_unnoticed)]
)
def test_the_model_detects_a_broken_rule(rule_broken: type[Guarantee], history: Callable[[Guarantee, Partition], None]) -> None:
    def run(machine: Guarantee) -> None:
        place = PLACES[0]
        machine.begin((6, 0, 0))
        machine.assign(place)
        machine.seek_undisturbed()
        machine.poll_undisturbed((3, 0, 0), 1)
        assert machine.batches
        history(machine, place)
        if machine.transaction is not None:
            machine.transaction_ends(True, True)
        machine.once_and_in_order()
        machine.teardown()

    run(Guarantee())
    with pytest.raises(AssertionError, match=r"== \[0, 1"):
        run(rule_broken())


def test_a_held_back_partition_is_not_sought_back_before_its_start_is_known():
    flow = Flow(BatchPolicy())
    place = ("references", 0)
    flow.partitions.assign([place])
    take_events(flow)
    flow.discard(hold=True)
    assert flow.partitions.to_seek_back() == set()
    assert not flow.idle(), "an idle worker's position would be committed"
    flow.resume(renew=False)
    assert flow.partitions.to_seek_back() == {place}
    assert take_events(flow) == []
    flow.discard(hold=True)
    flow.partitions.revoke([place], 0.0)
    flow.resume(renew=True)
    assert take_events(flow) == [("released", (place,))], "a partition that left meanwhile does not come back"
