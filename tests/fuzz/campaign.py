"""Many inputs in several processes: progress, time limit, finds on disk, memory watched, crashes and hangs survived."""

from __future__ import annotations

import ctypes
import gc
import json
import multiprocessing
import re
import signal
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, Final

import psutil

from tests.fuzz.checks import Broken, check
from tests.fuzz.minimise import minimise
from tests.fuzz.mutations import Input, generate
from tests.fuzz.seeds import Corpus

#: Memory is looked at after this many inputs of one process, garbage collected and free heap returned to the system.
SAMPLE: Final = 5_000
#: The first samples' share that is warm-up: caches of patterns, of pydantic, of lxml's names.
WARM_UP: Final = 0.2
#: Growth of a process from there to its end that is a find, in bytes, for each million inputs that it ran (32 MiB at least).
GROWTH: Final = 96 * 2**20
LEAST_GROWTH: Final = 32 * 2**20
#: A process that is silent for so long, in seconds, hangs in C code; it is ended and its input is a find.
SILENCE: Final = 60.0
_REPORT: Final = 0.5
#: Finds with one signature that are kept; more are only counted.
_KEPT: Final = 3


@dataclass
class Find:
    """One broken law: which input broke it and how, and the least that does."""

    signature: str
    detail: str
    number: int
    base: str
    mutations: tuple[str, ...]
    source: str | None
    limits: tuple[int, int, int] | None
    data: bytes = field(repr=False)


@dataclass
class Tally:
    """What a process did since it last reported, or all of them together."""

    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    confirmed: int = 0
    references: int = 0
    bases: Counter[str] = field(default_factory=Counter)
    base_seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    slowest: tuple[float, int] = (0.0, -1)  # CPU seconds, number
    memory: list[tuple[int, int, int]] = field(default_factory=list)  # process, its inputs so far, RSS in bytes
    signatures: Counter[str] = field(default_factory=Counter)
    finds: list[Find] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Takes another tally in."""
        self.runs += other.runs
        self.confirmed += other.confirmed
        self.references += other.references
        for name in ("outcomes", "bases", "signatures"):
            getattr(self, name).update(getattr(other, name))
        for base, seconds in other.base_seconds.items():
            self.base_seconds[base] += seconds
        self.slowest = max(self.slowest, other.slowest)
        self.memory += other.memory
        self.finds += other.finds


@dataclass(frozen=True)
class Plan:
    """What to run: inputs ``first`` to ``first + runs`` of a seed, in ``jobs`` processes, for ``minutes`` at most."""

    seed: int
    runs: int
    jobs: int = 1
    minutes: float | None = None
    first: int = 0


def run_one(item: Input, tally: Tally) -> Broken | None:
    """Checks one input and notes what became of it."""
    start = time.perf_counter()
    broken: Broken | None = None
    try:
        outcome = check(item.data, item.source, item.limits)
    except Broken as found:
        broken = found
        tally.outcomes["find"] += 1
    else:
        tally.outcomes[outcome.name] += 1
        tally.confirmed += outcome.confirmed
        tally.references += outcome.references
        tally.slowest = max(tally.slowest, (outcome.seconds, item.number))
    tally.runs += 1
    tally.bases[item.base] += 1
    tally.base_seconds[item.base] += time.perf_counter() - start
    return broken


def find_of(item: Input, broken: Broken, *, smallest: bool = True) -> Find:
    """The find, its input made small unless it is slow."""

    def shows(data: bytes) -> bool:
        try:
            check(data, item.source, item.limits)
        except Broken as found:
            return found.signature == broken.signature
        return False

    data, detail = item.data, str(broken)
    if smallest and broken.law != "slow":
        data = minimise(data, shows)
        try:
            check(data, item.source, item.limits)
        except Broken as found:
            detail = str(found)
    return Find(broken.signature, detail, item.number, item.base, item.mutations, item.source, item.limits, data)


def resident() -> int:
    """RSS in bytes of what is in use: garbage is collected and the heap's free end returned first."""
    gc.collect()
    with suppress(AttributeError, OSError):  # where there is no glibc
        ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


def _work(corpus: Corpus, plan: Plan, job: int, first: int, at: Synchronized[int], pipe: Connection) -> None:
    """One process: every ``plan.jobs``-th input from ``first`` on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sees to it
    gc.freeze()
    tally, kept, done = Tally(), Counter[str](), 0
    reported = time.monotonic()
    for number in range(first, plan.first + plan.runs, plan.jobs):
        at.value = number
        item = generate(corpus, plan.seed, number)
        if broken := run_one(item, tally):
            tally.signatures[broken.signature] += 1
            if kept[broken.signature] < _KEPT:
                kept[broken.signature] += 1
                pipe.send(tally)  # minimising takes a while
                tally = Tally(finds=[find_of(item, broken)])
        done += 1
        if done % SAMPLE == 0:
            tally.memory.append((job, done, resident()))
        now = time.monotonic()
        if now - reported > _REPORT:
            pipe.send(tally)
            tally, reported = Tally(), now
    tally.memory.append((job, done, resident()))
    pipe.send(tally)
    pipe.send(None)
    pipe.close()


class Campaign:
    """Runs a plan. ``progress`` is told the tally now and then."""

    def __init__(self, corpus: Corpus, plan: Plan, progress: Callable[[Tally], None] = lambda _: None):
        self.corpus, self.plan, self.progress = corpus, plan, progress
        self.tally = Tally()
        self.seconds = 0.0
        self._context = multiprocessing.get_context("fork")
        self._at = [self._context.Value("q", -1, lock=False) for _ in range(plan.jobs)]
        self._pipes: dict[int, Connection] = {}
        self._processes: dict[int, ForkProcess] = {}
        self._heard: dict[int, float] = {}

    def run(self) -> Tally:
        """All inputs, or as many as the time allows; an interrupt ends it early."""
        start = time.monotonic()
        for job in range(self.plan.jobs):
            self._begin(job, self.plan.first + job)
        try:
            while self._pipes and not (self.plan.minutes and time.monotonic() - start > 60 * self.plan.minutes):
                self._listen()
                self.progress(self.tally)
        except KeyboardInterrupt:
            pass
        finally:
            for process in self._processes.values():
                process.kill()
                process.join()
            self.seconds = time.monotonic() - start
        self._grown()
        return self.tally

    def _begin(self, job: int, first: int) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_work, args=(self.corpus, self.plan, job, first, self._at[job], theirs), daemon=True
        )
        process.start()
        theirs.close()
        self._pipes[job], self._processes[job], self._heard[job] = ours, process, time.monotonic()

    def _listen(self) -> None:
        wait(list(self._pipes.values()), timeout=1.0)
        for job, pipe in list(self._pipes.items()):
            try:
                while pipe.poll():
                    self._heard[job] = time.monotonic()
                    if (tally := pipe.recv()) is None:
                        del self._pipes[job]
                        break
                    self.tally.add(tally)
            except EOFError:
                self._lost(job, "crash")
            else:
                if job in self._pipes and time.monotonic() - self._heard[job] > SILENCE:
                    self._lost(job, "hang")

    def _lost(self, job: int, how: str) -> None:
        """A process is dead or silent: its input is a find, and another process goes on behind it."""
        process, number = self._processes[job], int(self._at[job].value)
        process.kill()
        process.join()
        del self._pipes[job]
        item = generate(self.corpus, self.plan.seed, number)
        detail = f"{how}: exit code {process.exitcode}" if how == "crash" else f"hang: silent for {SILENCE:g} s"
        self.tally.add(Tally(
            runs=1, outcomes=Counter(find=1), signatures=Counter({how: 1}),
            finds=[Find(how, detail, number, item.base, item.mutations, item.source, item.limits, item.data)],
        ))  # fmt: skip
        if number + self.plan.jobs < self.plan.first + self.plan.runs:
            self._begin(job, number + self.plan.jobs)

    def _grown(self) -> None:
        for job, grown in growth(self.tally.memory).items():
            runs = max(done for owner, done, _ in self.tally.memory if owner == job)
            if grown > max(LEAST_GROWTH, GROWTH * runs / 1e6):
                self.tally.signatures["growth"] += 1
                detail = f"growth: process {job} grew by {grown / 2**20:.0f} MiB over {runs} inputs"
                self.tally.finds.append(Find("growth", detail, -1, "", (), None, None, b""))

    def summary(self) -> dict[str, Any]:
        """The outcome as JSON."""
        tally, megabyte = self.tally, 2**20
        sizes = [size / megabyte for _, _, size in tally.memory]
        return {
            "seed": self.plan.seed, "first": self.plan.first, "inputs": tally.runs, "jobs": self.plan.jobs,
            "seconds": round(self.seconds, 1), "inputs_per_second": round(tally.runs / max(self.seconds, 1e-9), 1),
            "outcomes": dict(tally.outcomes.most_common()),
            "shares": {name: round(count / max(tally.runs, 1), 4) for name, count in tally.outcomes.most_common()},
            "references": tally.references, "read_twice": tally.confirmed,
            "by_base": {base: {"inputs": count, "per_second": round(count / max(tally.base_seconds[base], 1e-9), 1)}
                        for base, count in tally.bases.most_common()},
            "slowest": {"cpu_seconds": round(tally.slowest[0], 4), "number": tally.slowest[1]},
            "rss_mib": {"first": round(sizes[0], 1), "last": round(sizes[-1], 1), "max": round(max(sizes), 1),
                        "growth": {str(job): round(grown / megabyte, 1) for job, grown in sorted(growth(tally.memory).items())}}
            if sizes else {},
            "finds": dict(tally.signatures.most_common()),
        }  # fmt: skip


def growth(memory: list[tuple[int, int, int]]) -> dict[int, int]:
    """Bytes by which each process grew: the median of its last quarter of samples less that of the first behind the warm-up."""
    grown: dict[int, int] = {}
    for job in {owner for owner, _, _ in memory}:
        sizes = [size for owner, _, size in sorted(memory) if owner == job]
        sizes = sizes[int(len(sizes) * WARM_UP) :]
        quarter = max(len(sizes) // 4, 1)
        if len(sizes) > 1:
            grown[job] = int(statistics.median(sizes[-quarter:]) - statistics.median(sizes[:quarter]))
    return grown


def save(finds: list[Find], folder: Path, seed: int | str) -> None:
    """Each find as ``NAME.xml``, its least input, and ``NAME.json``, what is wrong with it."""
    folder.mkdir(parents=True, exist_ok=True)
    for find in finds:
        name = f"{re.sub('[^A-Za-z0-9]+', '-', find.signature)[:60].strip('-')}-{seed}-{find.number}"
        (folder / f"{name}.xml").write_bytes(find.data)
        about = {key: value for key, value in asdict(find).items() if key != "data"} | {"seed": seed}
        (folder / f"{name}.json").write_text(json.dumps(about, indent=1, ensure_ascii=True) + "\n")
