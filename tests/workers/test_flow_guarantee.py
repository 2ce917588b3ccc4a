"""The flow against a model of the broker: whatever happens in whatever order, every record is committed once and in order.

The model is what Kafka promises: committed offsets per partition, one owner at a time, transactions that apply whole or not at
all, no new owner while a transaction is open on a partition. Polling, seeking back and committing are cut into the steps
between which, in the worker, a rebalance may come.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from workers.batch import Batch, BatchPolicy
from workers.flow import Flow
from workers.stage import Place, Received
from workers.waiting import Background

PLACES: list[Place] = [("references", 0), ("references", 1), ("retries", 0)]
places = st.sampled_from(PLACES)
few = st.integers(1, 4)
#: True now and then: what undoes all work must not happen all the time.
seldom = st.integers(0, 5).map(lambda number: number == 5)


@dataclass
class Broker:
    """What is true, whoever works."""

    written: dict[Place, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))
    committed: dict[Place, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))
    results: dict[Place, list[int]] = field(default_factory=lambda: {place: [] for place in PLACES})

    def apply(self, place: Place, offsets: list[int]) -> None:
        self.results[place] += offsets
        self.committed[place] = offsets[-1] + 1


@dataclass
class Transaction:
    """``group`` are the batches of one commit; those of ``current`` are in the transaction."""

    group: list[Batch]
    current: list[Batch]
    checked: bool = False

    def places(self) -> set[Place]:
        return {place for batch in self.current for place in batch.positions}


class Guarantee(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.broker = Broker()
        self._start()

    def _start(self) -> None:
        #: What of ``retries`` is below this is ready.
        self.ready_below = 0
        behind = Background(frozenset({"retries"}), lambda record, _: record.offset < self.ready_below)
        self.flow = Flow(BatchPolicy(records=3, linger_s=0), queue_bytes=1000, background=behind)
        self.position: dict[Place, int] = {}  # of the partitions that the consumer believes to have
        self.stolen = False  # the group did without us and we do not know it yet
        self.polled: list[Received] | None = None
        self.seeking: tuple[Place, int, int] | None = None
        self.batches: list[Batch] = []
        self.transaction: Transaction | None = None

    def _pending(self) -> set[Place]:
        return self.transaction.places() if self.transaction else set()

    # The world

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
    def another_worker(self, place: Place, count: int) -> None:
        if (place in self.position and not self.stolen) or place in self._pending():
            return
        start = self.broker.committed[place]
        offsets = list(range(start, min(start + count, self.broker.written[place])))
        if offsets:
            self.broker.apply(place, offsets)

    # Rebalances

    @rule()
    def assign_all(self) -> None:
        for place in PLACES:
            self.assign(place)

    @rule(place=places)
    def assign(self, place: Place) -> None:
        self.assign_unannounced(place, 0)

    @rule(place=places, early=few)
    def assign_unannounced(self, place: Place, early: int) -> None:
        """The consumer has the partition before its listener says so: a poll in between may return ``early`` records of it."""
        if place in self.position or self.stolen or place in self._pending():
            return
        self.position[place] = self.broker.committed[place]
        if early and self.polled is not None:
            self.poll_fetches(place, early)
        elif early and self.seeking is None:
            self.poll_begins()
            self.poll_fetches(place, early)
            self.poll_returns()
        self.flow.assign([place])

    @rule(place=places)
    def revoke_without_time(self, place: Place) -> None:
        if place not in self.position or self.stolen:
            return
        busy = any(place in batch.positions for batch in self.batches)
        assert self.flow.revoke([place], 0) is not busy
        del self.position[place]

    @rule(place=places, count=few)
    def leave_and_come_back(self, place: Place, count: int) -> None:
        self.revoke_without_time(place)
        self.another_worker(place, count)
        self.assign(place)

    @rule(place=places, works=st.booleans())
    def revoke_and_finish(self, place: Place, works: bool) -> None:
        if place not in self.position or self.stolen:
            return
        answers: list[bool] = []
        thread = threading.Thread(target=lambda: answers.append(self.flow.revoke([place], 30)))
        thread.start()
        while place in self.flow.owned():
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
        self.stolen = now

    @precondition(lambda self: self.stolen)
    @rule()
    def hear_of_it(self) -> None:
        self.flow.lose(list(self.position))
        self.position.clear()
        self.stolen = False

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
    def poll_fetches(self, place: Place, count: int) -> None:
        assert self.polled is not None
        if place in self.position:
            start = self.position[place]
            end = min(start + count, self.broker.written[place])
            self.polled.extend(Received(*place, offset, None, b"", (), 0) for offset in range(start, end))
            self.position[place] = max(start, end)

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
        self.flow.offer(self.polled)
        self.polled = None

    @precondition(lambda self: self.polled is None and self.seeking is None)
    @rule(place=places)
    def seek_begins(self, place: Place) -> None:
        if place in self.flow.to_seek_back():
            departures = self.flow.departures()
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
            self.flow.sought_back(place, departures)

    @precondition(lambda self: self.polled is None and self.seeking is None and not self.stolen)
    @rule()
    def idle_commit(self) -> None:
        if self.flow.idle():
            for place in self.position.keys() - self.flow.held():
                assert self.position[place] == self.broker.committed[place], "an idle worker would commit past what it handled"

    # The compute thread

    @rule()
    def take(self) -> None:
        self.flow.news()
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
    def transaction_outlasts_a_revocation(self, place: Place, count: int) -> None:
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
        if current and self.stolen:  # the broker refuses the offsets of one who is no member any more
            self._end_transaction(False, known=True)

    def _check_transaction(self) -> None:
        assert self.transaction is not None
        if not all(self.flow.current(batch) for batch in self.transaction.current):
            self._end_transaction(False, known=True)
        else:
            self.transaction.checked = True

    def _end_transaction(self, works: bool, *, known: bool) -> None:
        """``known`` False: it worked and the answer was lost."""
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

    # The promise

    @invariant()
    def once_and_in_order(self) -> None:
        for place in PLACES:
            assert self.broker.results[place] == list(range(self.broker.committed[place]))

    def teardown(self) -> None:
        """Left in peace, the worker finishes everything: nothing is ever lost or stuck."""
        self.ready_below = 10**6
        if self.stolen:
            self.hear_of_it()
        for _ in range(400):  # all that 80 steps can produce, three at a time
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
    max_examples=300, stateful_step_count=80, deadline=None, suppress_health_check=list(HealthCheck)
)
TestGuarantee = Guarantee.TestCase


def test_what_is_held_back_is_not_sought_back_before_it_is_known_where_to_begin():
    flow = Flow(BatchPolicy(), queue_bytes=10**6)
    place = ("references", 0)
    flow.assign([place])
    flow.news()
    flow.discard(hold=True)
    assert flow.to_seek_back() == set()
    assert not flow.idle(), "an idle worker's position would be committed"
    flow.resume(renew=False)
    assert flow.to_seek_back() == {place}
    assert flow.news() == []
    flow.discard(hold=True)
    flow.revoke([place], 0.0)
    flow.resume(renew=True)
    assert flow.news() == [("released", (place,))], "a partition that left meanwhile does not come back"
