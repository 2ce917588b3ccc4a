"""How long each fault is felt: from the fault to the last link that came late because of it."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition

from reflink.entities import Work
from tests.chaos.faults import FROZEN_S, one_of_two
from tests.chaos.papers import POISON_EVERY, REFERENCES, number_of
from tests.chaos.world import Cluster, World
from workers.local.pipeline import WORKERS, Process, Worker

#: Few enough that what piled up meanwhile is worked off at once.
PACE: Final = 2.0
#: A paper whose last link takes longer than this is late; undisturbed it takes 0.2-0.3 s.
LATE_S: Final = 1.0
#: So long without a late paper, and the fault is over.
_CALM_S: Final = 4.0
_CUT_S: Final = 5.0
SESSION_TIMEOUT_S: Final = 10.0
TRANSACTION_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True)
class Recovery:
    """``seconds`` from the fault to the last late link, 0 when none was late; ``limit_s`` what is promised, None: nothing."""

    fault: str
    worker: str
    seconds: float
    late: int
    limit_s: float | None


class Watch:
    """Follows ``links`` and knows when each paper was linked whole."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.done: dict[int, float] = {}
        self._left: dict[int, int] = {}
        self._stop = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def close(self) -> None:
        """Follows no more."""
        self._stop.set()

    def late(self, since: float) -> list[tuple[int, float]]:
        """Papers sent from ``since`` on that took or take more than LATE_S, and when they were done (inf: not yet)."""
        now, found = time.time(), []
        for number, sent in enumerate(list(self.world.times)):
            if sent < since or number % POISON_EVERY == 0:
                continue
            done = self.done.get(number, float("inf"))
            if min(done, now) - sent > LATE_S:
                found.append((number, done))
        return found

    def _read(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self.world.cluster.broker.address, isolation_level="read_committed", enable_auto_commit=False
        )
        name = self.world.kafka.topic("links")
        places = [TopicPartition(name, partition) for partition in consumer.partitions_for_topic(name)]
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        while not self._stop.is_set():
            for records in consumer.poll(timeout_ms=50).values():
                for record in records:
                    number = number_of(json.loads(record.value)["citing"])
                    self._left[number] = self._left.get(number, REFERENCES) - 1
                    if self._left[number] == 0:
                        self.done[number] = time.time()
        consumer.close()


def measure(works: Sequence[Work], snapshot: Path, repeats: int, say: Callable[[str], None]) -> Iterator[Recovery]:
    """Every fault ``repeats`` times for every kind of worker, one at a time, at the default timeouts; each as it is known."""
    with tempfile.TemporaryDirectory(prefix="reflink-recovery-") as name, Cluster(Path(name) / "kafka") as cluster:
        world = World(
            cluster, Path(name) / "run", works, snapshot, pace=PACE, offer_papers="false", program=PROGRAM, **_TIMEOUTS
        )  # fmt: skip
        with world:
            watch = Watch(world)
            world.feed()
            _calm(watch, time.time())
            for turn in range(repeats):
                for fault, limit, do in _FAULTS:
                    for worker in WORKERS if fault not in _OF_ALL else ("all",):
                        began = time.time()
                        after = do(world, worker)
                        recovery = _recovered(watch, fault, worker, began, after, limit)
                        say(f"{turn + 1}: {recovery.fault}, {recovery.worker}: {recovery.seconds:.1f} s, {recovery.late} late")
                        yield recovery
            world.stop_feeding()
            watch.close()


PROGRAM: Final = (sys.executable, "-m", "workers.cli")
_TIMEOUTS: Final[dict[str, Any]] = {
    "session_timeout_s": SESSION_TIMEOUT_S,
    "transaction_timeout_s": TRANSACTION_TIMEOUT_S,
    "revocation_deadline_s": 4,
}


def _recovered(watch: Watch, fault: str, worker: str, began: float, after: float, limit: float | None) -> Recovery:
    """Waits until the fault is over. Counted from ``after`` where the fault itself lasted until then."""
    _calm(watch, began - 2)
    late = watch.late(began - 2)
    last = max((done for _, done in late), default=after)
    return Recovery(fault, worker, round(max(0.0, last - after), 2), len(late), limit)


def _calm(watch: Watch, since: float) -> None:
    """Until nothing is late any more, and for a while nothing has been."""
    calm = time.time()
    while time.time() - calm < _CALM_S:
        time.sleep(0.2)
        if any(done > time.time() - LATE_S for _, done in watch.late(since)):
            calm = time.time()


def _container(world: World, worker: Worker) -> float:
    process = world.members(worker)[0]
    now = time.time()
    os.kill(process.pid, signal.SIGKILL)
    return now


def _two(world: World, worker: Worker) -> Process:
    process = one_of_two(worker, world)
    time.sleep(2)  # its coming is felt no more
    return process


def _pod(world: World, worker: Worker) -> float:
    process = _two(world, worker)
    now = time.time()
    world.remove(process, kill=True)
    return now


def _freeze(world: World, worker: Worker) -> float:
    process = _two(world, worker)
    now = time.time()
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(FROZEN_S)
    os.kill(process.pid, signal.SIGCONT)
    return now


def _leave(world: World, worker: Worker) -> float:
    process = _two(world, worker)
    now = time.time()
    world.remove(process, kill=False)
    return now


def _broker(world: World, _: str) -> float:
    world.cluster.restart(kill=True)
    return time.time()


def _cut(world: World, worker: Worker) -> float:
    proxy = world.cluster.proxies[worker]
    proxy.turn("cut")
    time.sleep(_CUT_S)
    proxy.turn("open")
    return time.time()


#: Faults, what is promised, and how they are done; each returns the moment that it is counted from.
_FAULTS: Final[tuple[tuple[str, float | None, Callable[..., float]], ...]] = (
    ("container killed", SESSION_TIMEOUT_S + 2, _container),
    ("pod lost", TRANSACTION_TIMEOUT_S + 12, _pod),
    ("worker leaves", None, _leave),
    ("worker frozen", TRANSACTION_TIMEOUT_S + 12, _freeze),
    ("network cut for 5 s", None, _cut),
    ("broker killed", None, _broker),
)
_OF_ALL: Final = ("broker killed",)
