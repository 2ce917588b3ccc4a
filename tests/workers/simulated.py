"""The flow and its policy in simulated time: records arrive and a server works while a clock is moved on, in one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from workers.batch import Batch, BatchPolicy
from workers.flow import Flow
from workers.runtime import Runtime
from workers.settings import WorkerSettings
from workers.stage import NoView, Output, Place, Received, Stage

P: Place = ("references", 0)
#: Records arrive at these times, in seconds; ascending.
Arrivals = Iterable[tuple[float, Received]]


def record(offset: int, size: int = 650, place: Place = P) -> Received:
    """One of ``size`` bytes."""
    return Received(*place, offset, None, b"x" * size, (), 0)


@dataclass(frozen=True)
class Served:
    """A batch, when the server asked for it, had it and was done, and what the policy knew."""

    batch: Batch
    arrived: float
    asked: float
    taken: float
    done: float
    budget: int
    left: int

    @property
    def seconds(self) -> float:
        """In the server."""
        return self.done - self.taken


class World(AbstractContextManager["World"]):
    """A clock, records on their way, and the condition variable that the flow waits on."""

    def __init__(self, policy: BatchPolicy, arrivals: Arrivals, places: Iterable[Place] = (P,)) -> None:
        self.now = 0.0
        self.policy = policy
        self._coming = iter(arrivals)
        self._next = next(self._coming, None)
        self.arrived: dict[tuple[Place, int], float] = {}
        self.flow = Flow(policy, queue_bytes=10**12, clock=lambda: self.now)
        self.flow._changed = self  # type: ignore[assignment]
        self.flow.assign(places)
        for place in places:
            self.flow.sought_back(place, self.flow.departures())
        self.flow.news()

    def __exit__(self, *_: object) -> None: ...

    def notify_all(self) -> None:
        """Nobody else waits."""

    def wait_for(self, condition: Callable[[], Any], timeout: float) -> Any:
        """Moves the clock on to the arrival that makes the condition true, or to the end of the wait."""
        until = self.now + timeout
        while not (found := condition()) and self._next is not None and self._next[0] <= until:
            self.advance(self._next[0])
        if not found:
            self.advance(until)
        return found

    def advance(self, until: float) -> None:
        """Time passes; what arrives meanwhile is queued."""
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
        """Works until all has come and is done; ``cost`` is the seconds of a batch begun at a time."""
        served = []
        asked = self.now
        while (self._next is not None or len(self.flow._queue)) and self.now < until:
            budget = self.policy.budget
            batch = self.flow.take(0.05)
            if batch is None:
                asked = self.now
                continue
            first = batch.records[0]
            arrived = self.arrived[(first.topic, first.partition), first.offset]
            taken, left = self.now, len(self.flow._queue)
            seconds = cost(batch, taken)
            self.advance(taken + seconds)
            self.policy.learn(len(batch.records), batch.bytes, seconds, tokens(batch))
            self.flow.done(batch)
            served.append(Served(batch, arrived, max(asked, arrived), taken, self.now, budget, left))
            asked = self.now
        return served


def steady(rate: float, seconds: float, *, start: float = 0.0, first: int = 0, size: int = 650) -> list[tuple[float, Received]]:
    """So many records a second."""
    return [(start + number / rate, record(first + number, size)) for number in range(int(rate * seconds))]


class Clock:
    """Moved on by whoever works."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Busy(Stage[Received, NoView]):
    """Takes ``each_s`` a record, and ``step_s`` a step of following; there is always news when steps take time."""

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
    """Takes finished batches, and ends the worker when all records are in one."""

    def __init__(self, runtime: Runtime, count: int) -> None:
        self.runtime, self.left = runtime, count
        self.finished = self

    def put(self, finished: Any) -> None:
        if finished is not None:
            self.left -= len(finished.batch.records)
            if not self.left:
                self.runtime.stop()


def compute(stage: Busy, settings: WorkerSettings, count: int) -> None:
    """Runs the loop of the compute thread over so many waiting records."""
    runtime = Runtime(stage, settings, stage.clock)
    runtime.flow.assign([P])
    runtime.flow.sought_back(P, runtime.flow.departures())
    runtime.flow.news()
    runtime.flow.offer([record(offset) for offset in range(count)])
    with runtime.journal:
        runtime._compute(_Committer(runtime, count))  # type: ignore[arg-type]
