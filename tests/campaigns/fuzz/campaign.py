"""Runs many inputs in several processes, with progress, a time limit and finds on disk; survives crashes and hangs.

It also reports a process whose memory grows.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import re
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, Final, Protocol

from tests.campaigns.fuzz.checks import Broken, Outcome, check
from tests.campaigns.fuzz.memory import growth, resident
from tests.campaigns.fuzz.minimise import minimise
from tests.campaigns.fuzz.mutations import Input, generate
from tests.campaigns.fuzz.seeds import Corpus

#: Inputs of a process between two samples of its memory, taken after garbage collection and a trim of the heap.
SAMPLE: Final = 5_000
#: Growth of a process after the warm-up that is a find, in bytes per million inputs of the process (at least 32 MiB).
GROWTH: Final = 96 * 2**20
LEAST_GROWTH: Final = 32 * 2**20
#: A process that sends no report for this time, in seconds, hangs in C code. It is killed, and its input is a find.
SILENCE: Final = 60.0
_REPORT: Final = 0.5
#: Finds that each process keeps per signature; it only counts further ones.
_KEPT: Final = 3


@dataclass
class Find:
    """One violated law: the input that violates it, how, and the minimised bytes in ``data``."""

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
    """Counts of a process since its last report, or of all processes together."""

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
        """Add another tally to this one."""
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

    def summary(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return {
            "inputs": self.runs, "outcomes": dict(self.outcomes.most_common()), "read_twice": self.confirmed,
            "slowest": {"cpu_seconds": round(self.slowest[0], 4), "number": self.slowest[1]},
            "finds": dict(self.signatures.most_common()),
        }  # fmt: skip


class Subject(Protocol):
    """The parser that a campaign fuzzes: its inputs by number, and the laws that hold for each."""

    def generate(self, seed: int, number: int) -> Input:
        """Return the input with this number."""

    def check(self, item: Input) -> Outcome:
        """Parse and check one input. Raises Broken if a law does not hold."""


@dataclass(frozen=True)
class Articles:
    """The JATS parser."""

    corpus: Corpus

    def generate(self, seed: int, number: int) -> Input:
        """Return the input with this number."""
        return generate(self.corpus, seed, number)

    def check(self, item: Input) -> Outcome:
        """Parse and check one input. Raises Broken."""
        return check(item.data, item.source, item.limits)


@dataclass(frozen=True)
class Plan:
    """The inputs to run: ``runs`` inputs of a seed from number ``first`` on, in ``jobs`` processes, at most ``minutes``."""

    seed: int
    runs: int
    jobs: int = 1
    minutes: float | None = None
    first: int = 0


def run_one(subject: Subject, item: Input, tally: Tally) -> Broken | None:
    """Check one input and record its outcome in the tally; return the violation, if any."""
    start = time.perf_counter()
    broken: Broken | None = None
    try:
        outcome = subject.check(item)
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


def find_of(subject: Subject, item: Input, broken: Broken) -> Find:
    """Return the find, with a minimised input unless the find is a slow input."""

    def shows(data: bytes) -> bool:
        try:
            subject.check(replace(item, data=data))
        except Broken as found:
            return found.signature == broken.signature
        return False

    data, detail = item.data, str(broken)
    if broken.law != "slow":
        data = minimise(data, shows)
        try:
            subject.check(replace(item, data=data))
        except Broken as found:
            detail = str(found)
    return Find(broken.signature, detail, item.number, item.base, item.mutations, item.source, item.limits, data)


def _work(subject: Subject, plan: Plan, job: int, first: int, at: Synchronized[int], pipe: Connection) -> None:
    """Run every ``plan.jobs``-th input from ``first`` on: the body of one process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    gc.freeze()
    tally, kept, done = Tally(), Counter[str](), 0
    reported = time.monotonic()
    for number in range(first, plan.first + plan.runs, plan.jobs):
        at.value = number
        item = subject.generate(plan.seed, number)
        if broken := run_one(subject, item, tally):
            tally.signatures[broken.signature] += 1
            if kept[broken.signature] < _KEPT:
                kept[broken.signature] += 1
                pipe.send(tally)  # minimising takes a while
                tally = Tally(finds=[find_of(subject, item, broken)])
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
    """Runs a plan. It calls ``progress`` with the tally at intervals."""

    def __init__(self, subject: Subject, plan: Plan, progress: Callable[[Tally], None] = lambda _: None):
        self.subject, self.plan, self.progress = subject, plan, progress
        self.tally = Tally()
        self.seconds = 0.0
        self._context = multiprocessing.get_context("fork")
        self._at = [self._context.Value("q", -1, lock=False) for _ in range(plan.jobs)]
        self._pipes: dict[int, Connection] = {}
        self._processes: dict[int, ForkProcess] = {}
        self._reported: dict[int, float] = {}

    def run(self) -> Tally:
        """Run all inputs, or as many as the time allows; an interrupt ends the campaign early."""
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
            target=_work, args=(self.subject, self.plan, job, first, self._at[job], theirs), daemon=True
        )
        process.start()
        theirs.close()
        self._pipes[job], self._processes[job], self._reported[job] = ours, process, time.monotonic()

    def _listen(self) -> None:
        wait(list(self._pipes.values()), timeout=1.0)
        for job, pipe in list(self._pipes.items()):
            try:
                while pipe.poll():
                    self._reported[job] = time.monotonic()
                    if (tally := pipe.recv()) is None:
                        del self._pipes[job]
                        break
                    self.tally.add(tally)
            except EOFError:
                self._lost(job, "crash")
            else:
                if job in self._pipes and time.monotonic() - self._reported[job] > SILENCE:
                    self._lost(job, "hang")

    def _lost(self, job: int, how: str) -> None:
        """Record the input of a process that crashed or hangs as a find; start another process after that input."""
        process, number = self._processes[job], int(self._at[job].value)
        process.kill()
        process.join()
        del self._pipes[job]
        item = self.subject.generate(self.plan.seed, number)
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
        """Return the outcome as a JSON object."""
        tally, megabyte = self.tally, 2**20
        sizes = [size / megabyte for _, _, size in tally.memory]
        return {
            **tally.summary(), "seed": self.plan.seed, "first": self.plan.first, "jobs": self.plan.jobs,
            "seconds": round(self.seconds, 1), "inputs_per_second": round(tally.runs / max(self.seconds, 1e-9), 1),
            "shares": {name: round(count / max(tally.runs, 1), 4) for name, count in tally.outcomes.most_common()},
            "references": tally.references,
            "by_base": {base: {"inputs": count, "per_second": round(count / max(tally.base_seconds[base], 1e-9), 1)}
                        for base, count in tally.bases.most_common()},
            "rss_mib": {"first": round(sizes[0], 1), "last": round(sizes[-1], 1), "max": round(max(sizes), 1),
                        "growth": {str(job): round(grown / megabyte, 1) for job, grown in sorted(growth(tally.memory).items())}}
            if sizes else {},
        }  # fmt: skip


def save(finds: list[Find], folder: Path, seed: int | str) -> None:
    """Write each find as ``NAME.xml``, its minimised input, and ``NAME.json``, its description."""
    folder.mkdir(parents=True, exist_ok=True)
    for find in finds:
        name = f"{re.sub('[^A-Za-z0-9]+', '-', find.signature)[:60].strip('-')}-{seed}-{find.number}"
        (folder / f"{name}.xml").write_bytes(find.data)
        about = {key: value for key, value in asdict(find).items() if key != "data"} | {"seed": seed}
        (folder / f"{name}.json").write_text(json.dumps(about, indent=1, ensure_ascii=True) + "\n")
