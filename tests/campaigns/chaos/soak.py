"""Full load for a long time: real papers repeatedly, a slow worker, bursts, and a bulk load of the catalog.

The first sixth of the time (ten minutes of an hour) contains the bulk load and a burst. After it:

1. Memory must stay flat, also during a second burst.
2. Lag must fall to 0 when the papers end.
3. Slowness alone must not cause a rebalance.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_high
from typing import Any, Final

import psutil

from reflink.catalog.reading import read_works
from reflink.entities import Work
from tests.campaigns import threads
from tests.campaigns.chaos.cluster import Cluster
from tests.campaigns.chaos.world import READ, World
from tests.data import jats_folder, shared_data
from workers.catalog.bulk_load import load
from workers.devkit.processes import WORKERS, NotReady, WorkerDied
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import PaperRecord, publish, record_of

#: Minimum and maximum of papers that wait in the pipeline at full load.
_BACKLOG: Final = (100, 400)
#: In a burst, papers arrive at this multiple of the rate at which they are linked at full load, for this many seconds.
BURST: Final = 100
_BURST_S: Final = 3.0
#: Works that the bulk load adds.
BULK: Final = 10_000
_SAMPLE_S: Final = 5.0
#: References of a real article, roughly.
_REFERENCES: Final = 46
#: Start of the bulk load, starts of the bursts, and end of the papers, as fractions of the whole time.
_BULK_AT, _BURSTS_AT, _END_AT = 1 / 60, (5 / 60, 0.5), 0.85
#: Time from which memory must be flat, and length of the windows whose medians are compared, as fractions of the whole time.
WARM_AT: Final = 1 / 6
_WINDOW: Final = 1 / 12
#: Maximum growth of the memory from the first window to a later one.
FLAT: Final = 0.05
#: Records in one batch. Every batch takes ``_SLOWER_S`` longer, so that it outlasts the session on any machine.
_BATCH: Final = 1500
_SLOWER_S: Final = 12
#: Target time of a batch. Below ``_SLOWER_S`` the workers would reduce their batches to single records.
_TARGET_S: Final = 60
_SESSION_S: Final = 10.0
_SETTINGS: Final[dict[str, Any]] = {
    "program": (sys.executable, "-m", "tests.campaigns.chaos.victim", "--batch-s", str(_SLOWER_S)),
    "offer_papers": "false",
    "session_timeout_s": _SESSION_S,
    "revocation_deadline_s": 4,
    "batch_records": _BATCH,
    "batch_target_s": _TARGET_S,
}


@dataclass
class Soak:
    """The observations: samples every 5 s, marks with time and event, and the sums as of the last sample."""

    minutes: float
    samples: list[dict[str, Any]] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    papers: int = 0
    outcomes: int = 0
    rebalances: int = 0
    longest_batch_s: float = 0.0
    #: Exits of workers, by worker and exit code.
    ends: dict[str, int] = field(default_factory=dict)
    recovered_s: float | None = None
    #: Memory of each worker when it is warm, and the highest memory after that; both are medians of a window.
    warm_mb: dict[str, float] = field(default_factory=dict)
    highest_mb: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def soak(
    works: Sequence[Work], snapshot: Path, result: Soak, log: Callable[[str], None], sampled: Callable[[], object]
) -> None:
    """Run the soak for ``result.minutes`` and fill in the result; call ``sampled`` after each sample.

    The papers are the real articles, each time as a new version.
    """
    with (
        tempfile.TemporaryDirectory(prefix="reflink-soak-") as name,
        Cluster(Path(name) / "kafka") as cluster,
        World(cluster, Path(name) / "run", works, snapshot, pace=None, **_SETTINGS) as world,
    ):
        _run(world, result, log, sampled)


def _run(world: World, result: Soak, log: Callable[[str], None], sampled: Callable[[], object]) -> None:
    papers = itertools.cycle([record_of(path.name, path.read_bytes()) for path in sorted(jats_folder().glob("*.xml"))])
    began, length = time.monotonic(), result.minutes * 60
    before = _counted(world, "reflink_rebalances_total")
    stop, burst = threading.Event(), threading.Event()
    feeder = _thread(result, "feeding", lambda: _feed(world, papers, stop, burst, result))
    due: list[tuple[float, str, Callable[[], object]]] = [
        (_BULK_AT, f"{BULK:,} works", lambda: _thread(result, "the bulk load", lambda: _bulk(world))),
        (_BURSTS_AT[0], "", burst.set),
        (WARM_AT, "memory evaluated", lambda: None),
        (_BURSTS_AT[1], "", burst.set),
        (_END_AT, "papers end", stop.set),
    ]
    while True:
        now = time.monotonic() - began
        while due and now >= due[0][0] * length:
            _, what, do = due.pop(0)
            if what:
                result.marks.append((now, what))
            log(f"{now / 60:.1f} min: {what or 'burst'}")
            do()
        with suppress(NotReady, WorkerDied):  # a worker is restarting, which `ends` counts
            _look(world, result, now, before)
            if stop.is_set() and result.recovered_s is None and not any(result.samples[-1]["lag"].values()):
                result.recovered_s = round(now - _END_AT * length, 1)
            if len(result.samples) % 12 == 0:
                last = result.samples[-1]
                log(f"{now / 60:.1f} min: lag {last['lag']}, memory {last['rss_mb']} MB, {last['outcomes']:,} outcomes")
        result.ends = {f"{worker} {code}": count for (worker, code), count in sorted(world.ends.items())}
        sampled()
        if result.problems or (now >= length and result.recovered_s is not None) or now >= length * 1.5:
            break
        time.sleep(_SAMPLE_S)
    stop.set()
    feeder.join(10)


def _look(world: World, result: Soak, now: float, before: float) -> None:
    """Add a sample and update the sums. Raises NotReady or WorkerDied when a worker does not respond."""
    sample = _sample(world, now)
    result.samples.append(sample)
    result.outcomes, result.papers = int(sample["outcomes"]), world.sent
    result.rebalances = int(_counted(world, "reflink_rebalances_total") - before)
    result.longest_batch_s = max(result.longest_batch_s, _longest(world))


def _thread(result: Soak, what: str, body: Callable[[], None]) -> threading.Thread:
    """Run ``body`` in parallel to the sampling; its failure becomes a problem and ends the soak."""
    return threads.start(body, lambda error: result.problems.append(f"{what} failed: {type(error).__name__}: {error}"))


def _feed(world: World, papers: Iterator[PaperRecord], stop: threading.Event, burst: threading.Event, result: Soak) -> None:
    """Keep papers waiting; when ``burst`` is set, send the papers of ``_BURST_S`` seconds at once."""
    since = time.monotonic()
    with Sender(world.kafka) as sender:
        while not stop.is_set():
            try:
                lag = _lag(world)
                linked = _counted(world, "reflink_ledger_decisions_total", worker="ledger") / _REFERENCES
            except (NotReady, WorkerDied):
                stop.wait(_SAMPLE_S)
                continue
            waiting = lag["parser"] + lag["linker"] // _REFERENCES
            if burst.is_set():
                burst.clear()
                extra = int(linked / (time.monotonic() - since) * BURST * _BURST_S)
                _publish(world, sender, itertools.islice(papers, extra))
                result.marks.append((time.monotonic() - since, f"burst of {extra:,} papers"))
            elif waiting < _BACKLOG[0]:
                _publish(world, sender, itertools.islice(papers, _BACKLOG[1] - int(waiting)))
            # Wait until the lag has been measured again.
            stop.wait(_SAMPLE_S * 2)


def _publish(world: World, sender: Sender, records: Iterator[PaperRecord]) -> None:
    world.sent += publish(records, sender)
    sender.flush()


def _bulk(world: World) -> None:
    works = (work for work in read_works(shared_data() / "works.jsonl.gz") if isinstance(work, Work))
    load(itertools.islice(works, BULK), world.kafka)


def _sample(world: World, now: float) -> dict[str, Any]:
    memory = dict.fromkeys(WORKERS, 0.0)
    for worker in WORKERS:
        with suppress(psutil.NoSuchProcess):
            memory[worker] = round(psutil.Process(world.members(worker)[0].pid).memory_info().rss / 2**20, 1)
    return {
        "seconds": round(now, 1),
        "rss_mb": memory,
        "lag": _lag(world),
        "outcomes": _counted(world, "reflink_ledger_decisions_total", worker="ledger"),
    }


def _lag(world: World) -> dict[str, int]:
    """Return the lag that the workers report. Raises NotReady or WorkerDied, because an unknown lag is not 0."""
    return {worker: int(_counted(world, "reflink_lag_records", worker=worker, topic=topic)) for worker, topic in READ.items()}


def _counted(world: World, name: str, *, worker: str | None = None, **labels: str) -> float:
    total = 0.0
    for process in world.pipeline.processes:
        if process in world.gone or (worker is not None and process.worker != worker):
            continue
        total += process.metrics().sum(name, **labels)
    return total


def _longest(world: World) -> float:
    """Return the lower bound, in seconds, of the histogram bucket with the linker's longest batch."""
    buckets = world.members("linker")[0].metrics().find("reflink_stage_seconds_bucket", step="handle")
    everything = max((each.value for each in buckets), default=0.0)
    return max((float(each.labels["le"]) for each in buckets if each.value < everything), default=0.0)


def evaluate(result: Soak) -> None:
    """Fill in each worker's memory and the problems, from the samples that there are."""
    if not result.samples:
        result.problems.append("no sample was taken")
        return
    length, end = result.minutes * 60, result.samples[-1]["seconds"]
    warm, window = length * WARM_AT, length * _WINDOW
    for worker in WORKERS:
        medians = [median_high([each["rss_mb"][worker] for each in part]) for part in _windows(result.samples, warm, window)]
        if len(medians) < 2:
            result.problems.append(f"{worker}: the run was too short to measure memory from minute {warm / 60:g} on")
            continue
        first, highest = medians[0], max(medians[1:])
        result.warm_mb[worker], result.highest_mb[worker] = first, highest
        if highest > first * (1 + FLAT):
            result.problems.append(
                f"{worker}: memory rose from {first:.0f} MB at minute {warm / 60:g} to {highest:.0f} MB, by "
                f"{highest / first - 1:.1%}; at most {FLAT:.0%} is flat"
            )
    if end < length:
        result.problems.append(f"it ran for {end / 60:.1f} of {result.minutes:g} minutes")
    if result.rebalances:
        result.problems.append(f"{result.rebalances} rebalances although no worker joined or left")
    if result.ends:
        result.problems.append(f"workers ended, by exit code: {result.ends}")
    if result.longest_batch_s < _SESSION_S:
        result.problems.append(f"no batch took as long as the session of {_SESSION_S:g} s")
    if not result.outcomes:
        result.problems.append("nothing was linked")
    if result.recovered_s is None:
        result.problems.append(f"lag did not come down to 0: {result.samples[-1]['lag']}")


def _windows(samples: Sequence[dict[str, Any]], begin: float, length: float) -> list[list[dict[str, Any]]]:
    """Split the samples from ``begin`` on into windows of ``length`` seconds; omit a last one that is less than half full."""
    windows: list[list[dict[str, Any]]] = []
    while part := [each for each in samples if begin <= each["seconds"] < begin + length]:
        if part[-1]["seconds"] - begin >= length / 2:
            windows.append(part)
        begin += length
    return windows
