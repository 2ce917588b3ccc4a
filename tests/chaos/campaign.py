"""Disturbed runs and the undisturbed one that they are compared with."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reflink.entities import Work
from reflink.errors import ReflinkError
from tests.chaos.faults import Missed, apply
from tests.chaos.plan import Fault, draw
from tests.chaos.world import Cluster, World
from workers.loading import load

#: Papers a second while faults go on: the pipeline is to have something to do, and to keep up.
PACE: Final = 3.0
#: How a worker may end: killed, told to end before it could hear it, drained, fenced, stalled, no broker, its store's disk
#: full. Anything else is a defect.
_FINE: Final = (-9, -15, 0, 5, 7, 9, 10)
Say = Callable[[str], None]


@dataclass
class Verdict:
    """What one disturbed run came to."""

    world: str
    papers: int
    seconds: float
    kills: Counter[str] = field(default_factory=Counter)
    victims: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def report(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(self).items()}


def campaign(kills: int, seed: int, works: Sequence[Work], snapshot: Path, say: Say) -> list[Verdict]:
    """Two disturbed runs: three quarters of the faults with a fixed catalog, the rest with one that grows."""
    faults = draw(kills, seed)
    most = len(faults) * 3 // 4
    with tempfile.TemporaryDirectory(prefix="reflink-chaos-") as name, Cluster(Path(name) / "kafka") as cluster:
        folder = Path(name)
        run = Disturbed(cluster, works, snapshot, say)
        fixed = run.run("fixed catalog", faults[:most], folder / "fixed", offer_papers="false")
        say("the same papers, undisturbed")
        with World(cluster, folder / "quiet", works, snapshot, pace=None, offer_papers="false") as quiet:
            quiet.feed_until(fixed.papers)
            quiet.settle()
        fixed.problems += check(cluster, run.prefix, fixed, like=quiet.kafka.topic_prefix)
        say(f"{fixed.world}: {fixed.counts}; problems: {fixed.problems or 'none'}")
        grown = run.run("growing catalog", faults[most:], folder / "growing", offer_papers="true")
        grown.problems += check(cluster, run.prefix, grown)
        say(f"{grown.world}: {grown.counts}; problems: {grown.problems or 'none'}")
    return [fixed, grown]


class Disturbed:
    """Makes disturbed runs on one cluster."""

    def __init__(self, cluster: Cluster, works: Sequence[Work], snapshot: Path, say: Say) -> None:
        self.cluster, self.works, self.snapshot, self.say = cluster, works, snapshot, say
        self.prefix = ""

    def run(self, name: str, faults: Sequence[Fault], folder: Path, **settings: Any) -> Verdict:
        """Papers come, faults happen one after the other, and at the end everything must be linked."""
        started = time.monotonic()
        verdict = Verdict(name, 0, 0.0)
        with World(self.cluster, folder, self.works, self.snapshot, pace=PACE, **settings) as world:
            self.prefix = world.kafka.topic_prefix
            world.feed()
            with _growing(world) if settings["offer_papers"] == "true" else nullcontext():
                for fault in faults:
                    self._apply(fault, world, verdict, name)
            world.stop_feeding()
            self.say(f"{name}: {world.sent} papers were sent, waiting until all is linked")
            world.settle()
            verdict.papers = world.sent
        verdict.seconds = round(time.monotonic() - started, 1)
        verdict.ends = {f"{worker} {code}": count for (worker, code), count in sorted(world.ends.items())}
        for (worker, code), count in world.ends.items():
            if code not in _FINE:
                verdict.problems.append(f"{worker} ended {count} times with exit code {code}: {_last_words(world, worker)}")
        return verdict

    def _apply(self, fault: Fault, world: World, verdict: Verdict, name: str) -> None:
        began = time.monotonic()
        try:
            apply(fault, world)
        except Missed as reason:
            verdict.missed.append(f"{fault}: {reason}")
            self.say(f"{name}: {fault}: missed: {reason}")
            return
        if fault.kind == "kill":
            verdict.kills[str(fault.phase)] += 1
            verdict.victims[fault.worker] += 1
        else:
            verdict.others[fault.kind] += 1
        self.say(f"{name}: {fault}: {time.monotonic() - began:.1f} s")


def check(cluster: Cluster, prefix: str, verdict: Verdict, *, like: str | None = None) -> list[str]:
    """The problems that a process of its own finds in the topics; fills in the counts."""
    command = [sys.executable, "-m", "tests.chaos.checker", cluster.broker.address, prefix, "--papers", str(verdict.papers)]
    done = subprocess.run([*command, *(["--like", like] if like else [])], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        return [f"the checker failed: {done.stderr[-500:]}"]
    report = json.loads(done.stdout)
    verdict.counts = report["counts"]
    problems: list[str] = report["problems"]
    return problems


@contextmanager
def _growing(world: World) -> Iterator[None]:
    """More works come into the catalog meanwhile, two a second."""
    stop = threading.Event()

    def load_slowly() -> None:
        for number, work in enumerate(world.works):
            if stop.wait(0.5):
                return
            more = work.model_copy(
                update={"id": f"made:{number}", "title": f"{work.title} again {number}", "ids": type(work.ids)()}
            )
            with suppress(ReflinkError):  # the broker is away
                load([more], world.kafka)

    loading = threading.Thread(target=load_slowly, daemon=True)
    loading.start()
    try:
        yield
    finally:
        stop.set()
        loading.join()


def _last_words(world: World, worker: str) -> str:
    return "; ".join(process.last_line() for process in world.pipeline.processes if process.worker == worker)[:500]
