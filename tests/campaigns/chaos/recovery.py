"""Recovery times: from a fault to the last link that came late because of it."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from reflink.entities import Work
from tests.campaigns.chaos.cluster import Cluster
from tests.campaigns.chaos.faults import one_of_two
from tests.campaigns.chaos.papers import POISON_EVERY, REFERENCES, number_of
from tests.campaigns.chaos.world import World
from tests.campaigns.follower import Follower
from workers.devkit.processes import WORKERS, Process, Worker

#: Papers per second: few enough that the pipeline works off the backlog of a fault at once.
PACE: Final = 2.0
#: A paper whose last link takes longer than this is late; undisturbed it takes 0.2-0.3 s.
LATE_S: Final = 1.0
#: A fault is over after this time without a late paper.
_CALM_S: Final = 4.0
_CUT_S: Final = 5.0
#: Longer than the workers' session timeout and the broker's transaction timeout, so that other members have taken over.
_FROZEN_S: Final = 14.0
SESSION_TIMEOUT_S: Final = 10.0
TRANSACTION_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True)
class Recovery:
    """One measurement: ``seconds`` from the fault to the last late link, 0 without one; ``limit_s``, the promise, if any."""

    fault: str
    worker: str
    seconds: float
    late: int
    limit_s: float | None


class Watch:
    """Follows ``links`` and records when all references of each paper were linked."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.done: dict[int, float] = {}
        #: Linked references of each paper.
        self._linked: Counter[int] = Counter()
        self.follower = Follower(world.kafka, "links", self._receive)

    def late(self, since: float) -> list[tuple[int, float]]:
        """Return the papers sent from ``since`` on that took or take over LATE_S, and when each was done (inf: not yet)."""
        now, found = time.time(), []
        for number, sent in enumerate(list(self.world.times)):
            if sent < since or number % POISON_EVERY == 0:
                continue
            done = self.done.get(number, float("inf"))
            if min(done, now) - sent > LATE_S:
                found.append((number, done))
        return found

    def _receive(self, record: Any) -> None:
        number = number_of(json.loads(record.value)["citing"])
        self._linked[number] += 1
        if self._linked[number] == REFERENCES:
            self.done[number] = time.time()


def measure(works: Sequence[Work], snapshot: Path, repeats: int, log: Callable[[str], None]) -> Iterator[Recovery]:
    """Yield each recovery time once it is known: each fault ``repeats`` times per worker, one at a time, default timeouts."""
    with (
        tempfile.TemporaryDirectory(prefix="reflink-recovery-") as name,
        Cluster(Path(name) / "kafka") as cluster,
        World(cluster, Path(name) / "run", works, snapshot, pace=PACE, **_SETTINGS) as world,
    ):
        watch = Watch(world)
        world.feed()
        _calm(watch, time.time())
        for turn in range(repeats):
            for fault, limit, do in _FAULTS:
                for worker in WORKERS if fault not in _OF_ALL else ("all",):
                    began = time.time()
                    after = do(world, worker)
                    recovery = _recovered(watch, fault, worker, began, after, limit)
                    log(f"{turn + 1}: {recovery.fault}, {recovery.worker}: {recovery.seconds:.1f} s, {recovery.late} late")
                    yield recovery
        world.stop_feeding()
        watch.follower.close()


_SETTINGS: Final[dict[str, Any]] = {
    "program": (sys.executable, "-m", "workers.cli"),
    "offer_papers": "false",
    "session_timeout_s": SESSION_TIMEOUT_S,
    "transaction_timeout_s": TRANSACTION_TIMEOUT_S,
    "revocation_deadline_s": 4,
}


def _recovered(watch: Watch, fault: str, worker: str, began: float, after: float, limit: float | None) -> Recovery:
    """Wait until the fault is over; return its recovery, counted from ``after``, the end of a fault that lasts."""
    _calm(watch, began - 2)
    late = watch.late(began - 2)
    last = max((done for _, done in late), default=after)
    return Recovery(fault, worker, round(max(0.0, last - after), 2), len(late), limit)


def _calm(watch: Watch, since: float) -> None:
    """Wait until no paper has been late for a while."""
    calm = time.time()
    while time.time() - calm < _CALM_S:
        time.sleep(0.2)
        if any(done > time.time() - LATE_S for _, done in watch.late(since)):
            calm = time.time()


def _container(world: World, worker: Worker) -> float:
    now = time.time()
    os.kill(world.members(worker)[0].pid, signal.SIGKILL)
    return now


def _two(world: World, worker: Worker) -> Process:
    process = one_of_two(worker, world)
    time.sleep(2)  # until the rebalance that its start causes is over
    return process


def _remove(world: World, worker: Worker, *, kill: bool) -> float:
    process = _two(world, worker)
    now = time.time()
    world.remove(process, kill=kill)
    return now


def _freeze(world: World, worker: Worker) -> float:
    process = _two(world, worker)
    now = time.time()
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(_FROZEN_S)
    os.kill(process.pid, signal.SIGCONT)
    return now


def _broker(world: World, _: str) -> float:
    world.cluster.restart(kill=True)
    return time.time()


def _cut(world: World, worker: Worker) -> float:
    proxy = world.cluster.networks[worker]
    proxy.turn("cut")
    time.sleep(_CUT_S)
    proxy.turn("open")
    return time.time()


#: Name, promised limit and function of each fault; the function returns the time from which the recovery is counted.
_FAULTS: Final[tuple[tuple[str, float | None, Callable[..., float]], ...]] = (
    ("container killed", SESSION_TIMEOUT_S + 2, _container),
    ("pod lost", TRANSACTION_TIMEOUT_S + 12, partial(_remove, kill=True)),
    ("worker leaves", None, partial(_remove, kill=False)),
    ("worker frozen", TRANSACTION_TIMEOUT_S + 12, _freeze),
    ("network cut for 5 s", None, _cut),
    ("broker killed", None, _broker),
)
_OF_ALL: Final = ("broker killed",)
