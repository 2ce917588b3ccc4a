"""The flow and its policy in simulated time: one thread advances a clock, lets records arrive and handles batches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from workers.config.settings import WorkerSettings
from workers.records import Partition, Received
from workers.runtime.batching import Batch, BatchPolicy
from workers.runtime.exclusive_handling import ExclusiveHandling
from workers.runtime.flow import Flow
from workers.runtime.partition_states import AssignmentEvent
from workers.runtime.runtime import Runtime
from workers.stage import NoView, Output, Stage

P: Partition = ("references", 0)
Q: Partition = ("references", 1)
#: Seconds that no wait of a passing test takes.
LONG = 30.0
#: Pairs of arrival time, in seconds and ascending, and record.
Arrivals = Iterable[tuple[float, Received]]


def record(offset: int, size: int = 650, place: Partition = P) -> Received:
    """Return a record with a value of ``size`` bytes."""
    return Received(*place, offset, None, b"x" * size, (), 0)


def take_events(flow: Flow) -> list[AssignmentEvent]:
    """Take all assignment events from the flow, as the runtime does for a stage, and return them."""
    return list(iter(flow.partitions.next_event, None))


def seek_back(flow: Flow, *partitions: Partition) -> None:
    """Mark the partitions as sought to their committed offsets."""
    for partition in partitions:
        flow.partitions.sought_back(partition, flow.partitions.departures())


def gain(flow: Flow, *partitions: Partition) -> None:
    """Assign the partitions and mark them as sought back; their assignment event stays queued."""
    flow.partitions.assign(partitions)
    seek_back(flow, *partitions)


def assign(flow: Flow, *partitions: Partition) -> None:
    """Assign the partitions, mark them as sought back, and take the assignment events."""
    gain(flow, *partitions)
    take_events(flow)


class Later:
    """A call in its own thread, and its result."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.answers: list[Any] = []
        self.thread = threading.Thread(target=lambda: self.answers.append(call()), daemon=True)
        self.thread.start()

    def answer(self) -> Any:
        self.thread.join(LONG)
        assert not self.thread.is_alive(), "it still waits"
        return self.answers[0]


@dataclass(frozen=True)
class Served:
    """A handled batch, with times in seconds.

    ``arrived`` is the arrival of its first record; ``asked`` the time from which the idle server and this record waited for the
    batch. ``budget`` is the policy's budget before the batch, ``left`` the number of records that stayed in the queue.
    """

    batch: Batch
    arrived: float
    asked: float
    taken: float
    done: float
    budget: int
    left: int

    @property
    def seconds(self) -> float:
        """Return the time that the server took for the batch, in seconds."""
        return self.done - self.taken


class World(AbstractContextManager["World"]):
    """A clock, the records that will arrive, and the condition variable that the flow waits on."""

    def __init__(self, policy: BatchPolicy, arrivals: Arrivals, places: Iterable[Partition] = (P,)) -> None:
        self.now = 0.0
        self.policy = policy
        self._coming = iter(arrivals)
        self._next = next(self._coming, None)
        self.arrived: dict[tuple[Partition, int], float] = {}
        self.flow = Flow(policy, clock=lambda: self.now, changed=self)  # type: ignore[arg-type]
        assign(self.flow, *places)

    def __exit__(self, *_: object) -> None: ...

    def notify_all(self) -> None:
        """Do nothing: no other thread waits."""

    def wait_for(self, condition: Callable[[], Any], timeout: float) -> Any:
        """Advance the clock to the arrival that makes the condition true, or to the end of the wait."""
        until = self.now + timeout
        while not (found := condition()) and self._next is not None and self._next[0] <= until:
            self.advance(self._next[0])
        if not found:
            self.advance(until)
        return found

    def advance(self, until: float) -> None:
        """Advance the clock, and queue the records that arrive meanwhile."""
        while self._next is not None and self._next[0] <= until:
            when, arrived = self._next
            self.now = max(self.now, when)
            self.arrived[(arrived.topic, arrived.partition), arrived.offset] = self.now
            self._next = next(self._coming, None)
            self.flow.offer([arrived])
        self.now = max(self.now, until)

    def serve(
        self, cost: Callable[[Batch, float], float], *, until: float = 1e9, tokens: Callable[[Batch], int] = lambda _: 0
    ) -> list[Served]:
        """Handle batches until all records have arrived and are handled, or the clock reaches ``until``.

        ``cost`` returns the seconds that a batch takes, from the batch and its start time.
        """
        served = []
        asked = self.now
        while (self._next is not None or self.flow.queued().live) and self.now < until:
            budget = self.policy.budget
            batch = self.flow.take(0.05)
            if batch is None:
                asked = self.now
                continue
            first = batch.records[0]
            arrived = self.arrived[(first.topic, first.partition), first.offset]
            taken, left = self.now, self.flow.queued().live
            seconds = cost(batch, taken)
            self.advance(taken + seconds)
            self.policy.learn(len(batch.records), batch.bytes, seconds, tokens(batch))
            self.flow.done(batch)
            served.append(Served(batch, arrived, max(asked, arrived), taken, self.now, budget, left))
            asked = self.now
        return served


def steady(rate: float, seconds: float, *, start: float = 0.0, first: int = 0, size: int = 650) -> list[tuple[float, Received]]:
    """Return arrivals at a constant ``rate`` in records per second."""
    return [(start + number / rate, record(first + number, size)) for number in range(int(rate * seconds))]


class Clock:
    """A clock that simulated work advances."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Busy(Stage[Received, NoView]):
    """A stage that takes ``each_s`` per record and ``step_s`` per step of following.

    With ``step_s`` of 0 there is nothing to follow, otherwise there are always changes.
    """

    name = "ledger"
    inputs = ("references",)

    def __init__(self, clock: Clock, *, each_s: float, step_s: float = 0.0) -> None:
        self.clock, self.each_s, self.step_s = clock, each_s, step_s
        self.batches: list[int] = []

    def decode(self, record: Received) -> Received:
        return record

    def view(self, batch: Sequence[Received]) -> NoView:
        return NoView()

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        self.clock.now += self.each_s * len(batch)
        self.batches.append(len(batch))
        return Output()

    def follow(self, seconds: float) -> bool:
        until = self.clock.now + seconds
        while self.step_s:
            self.clock.now += self.step_s
            if self.clock.now >= until:
                return True
        return False


class _Committer:
    """A committer that counts the records of finished batches, and ends the worker after ``count`` of them."""

    def __init__(self, runtime: Runtime, count: int) -> None:
        self.runtime, self.left = runtime, count
        self.finished = self

    def put(self, finished: Any) -> None:
        if finished is not None:
            self.left -= len(finished.batch.records)
            if not self.left:
                self.runtime.flow.close()


def compute(stage: Busy, settings: WorkerSettings, count: int, exclusive: ExclusiveHandling | None = None) -> None:
    """Run the loop of the compute thread over ``count`` queued records. ``exclusive``: the turns of other stages."""
    runtime = Runtime(stage, settings, stage.clock)
    runtime.exclusive = exclusive or runtime.exclusive
    assign(runtime.flow, P)
    runtime.flow.offer([record(offset) for offset in range(count)])
    with runtime.journal:
        runtime._compute(_Committer(runtime, count))  # type: ignore[arg-type]
