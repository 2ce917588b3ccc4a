"""Full load for a long time: real papers again and again, a slow worker, a burst, a bulk load of the catalog meanwhile.

Memory must stay flat, lag must come down again, and slowness alone must cause no rebalance.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from reflink.catalog.reading import read_works
from reflink.entities import Work
from tests.chaos.recovery import PROGRAM
from tests.chaos.world import READ, Cluster, World
from tests.data import jats_folder, shared_data
from workers.loading import load
from workers.local.pipeline import WORKERS, WorkerDied
from workers.publishing import PaperRecord, publish, record_of
from workers.sending import Sender

#: Papers that wait are kept between these while the load is full.
_BACKLOG: Final = (100, 400)
#: In the burst so many times as many papers come as are linked at full load, for so many seconds.
BURST: Final = 100
_BURST_S: Final = 3.0
#: Works that are loaded while all that goes on.
BULK: Final = 20_000
_SAMPLE_S: Final = 5.0
#: Of a real article, roughly.
_REFERENCES: Final = 46
#: Of the whole time: when the burst comes, when the bulk load begins, when papers end.
_BURST_AT, _BULK_AT, _END_AT = 0.35, 0.5, 0.85
#: References in one batch: the linker is behind with them for longer than its session lasts.
_BATCH: Final = 1500
_SESSION_S: Final = 10.0


@dataclass
class Soak:
    """What was seen: samples every 5 s, marks of what began when, and the sums as of the last sample."""

    minutes: float
    samples: list[dict[str, Any]] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    papers: int = 0
    outcomes: int = 0
    rebalances: int = 0
    longest_batch_s: float = 0.0
    restarts: int = 0
    recovered_s: float | None = None
    growth_mb: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def soak(
    works: Sequence[Work], snapshot: Path, result: Soak, say: Callable[[str], None], sampled: Callable[[], object]
) -> None:
    """Runs it for ``result.minutes`` and fills in the result; calls ``sampled`` after each sample.

    Papers are the real articles, each time as a new version.
    """
    with tempfile.TemporaryDirectory(prefix="reflink-soak-") as name, Cluster(Path(name) / "kafka") as cluster:
        settings: dict[str, Any] = {
            "offer_papers": "false",
            "session_timeout_s": _SESSION_S,
            "revocation_deadline_s": 4,
            "batch_records": _BATCH,
        }
        with World(cluster, Path(name) / "run", works, snapshot, pace=None, program=PROGRAM, **settings) as world:
            _run(world, result, say, sampled)


def _run(world: World, result: Soak, say: Callable[[str], None], sampled: Callable[[], object]) -> None:
    began, length = time.monotonic(), result.minutes * 60
    before = _counted(world, "reflink_rebalances_total")
    stop, burst = threading.Event(), threading.Event()
    feeder = threading.Thread(target=_feed, args=(world, stop, burst, result), daemon=True)
    feeder.start()
    _mark(result, 0.0, "full load")
    due: list[tuple[float, str, Callable[[], None]]] = [
        (_BURST_AT, "burst", burst.set),
        (_BULK_AT, f"{BULK:,} works", lambda: threading.Thread(target=_bulk, args=(world,), daemon=True).start()),
        (_END_AT, "papers end", stop.set),
    ]
    while True:
        now = time.monotonic() - began
        while due and now >= due[0][0] * length:
            _, what, do = due.pop(0)
            _mark(result, now, what)
            say(f"{now / 60:.1f} min: {what}")
            do()
        sample = _sample(world, now)
        result.samples.append(sample)
        result.outcomes, result.papers = int(sample["outcomes"]), world.sent
        result.rebalances = int(_counted(world, "reflink_rebalances_total") - before)
        result.longest_batch_s = max(result.longest_batch_s, _longest(world))
        result.restarts = sum(world.ends.values())
        if len(result.samples) % 12 == 0:
            say(f"{now / 60:.1f} min: lag {sample['lag']}, memory {sample['rss_mb']} MB, {sample['outcomes']:,} outcomes")
        if stop.is_set() and result.recovered_s is None and not any(sample["lag"].values()):
            result.recovered_s = round(now - _END_AT * length, 1)
        sampled()
        if (now >= length and result.recovered_s is not None) or now >= length * 1.5:
            break
        time.sleep(_SAMPLE_S)
    feeder.join(10)


def _feed(world: World, stop: threading.Event, burst: threading.Event, result: Soak) -> None:
    """Keeps papers waiting; a burst once, of so many seconds' papers at once."""
    papers = itertools.cycle(_records())
    since = time.monotonic()
    with Sender(world.kafka) as sender:
        while not stop.is_set():
            lag = _lag(world)
            waiting = lag["parser"] + lag["linker"] // _REFERENCES
            if burst.is_set():
                burst.clear()
                linked = _counted(world, "reflink_ledger_decisions_total", worker="ledger") / _REFERENCES
                extra = int(linked / (time.monotonic() - since) * BURST * _BURST_S)
                _publish(world, sender, itertools.islice(papers, extra))
                result.marks.append((time.monotonic() - since, f"{extra} papers at once"))
            elif waiting < _BACKLOG[0]:
                _publish(world, sender, itertools.islice(papers, _BACKLOG[1] - int(waiting)))
            # Until lag is measured again.
            stop.wait(_SAMPLE_S * 2)


def _publish(world: World, sender: Sender, records: Iterator[PaperRecord]) -> None:
    world.sent += publish(records, sender)
    sender.flush()


def _records() -> list[PaperRecord]:
    """The real articles, compressed once."""
    return [record_of(path.name, path.read_bytes()) for path in sorted(jats_folder().glob("*.xml"))]


def _bulk(world: World) -> None:
    works = (work for work in read_works(shared_data() / "works.jsonl.gz") if isinstance(work, Work))
    load(itertools.islice(works, BULK), world.kafka)


def _sample(world: World, now: float) -> dict[str, Any]:
    memory = {}
    for worker in WORKERS:
        try:
            memory[worker] = round(psutil.Process(world.members(worker)[0].pid).memory_info().rss / 2**20, 1)
        except psutil.NoSuchProcess:
            memory[worker] = 0.0
    return {
        "seconds": round(now, 1),
        "rss_mb": memory,
        "lag": _lag(world),
        "outcomes": _counted(world, "reflink_ledger_decisions_total", worker="ledger"),
    }


def _lag(world: World) -> dict[str, int]:
    """As the workers say it themselves."""
    found = {}
    for worker, topic in READ.items():
        found[worker] = int(_counted(world, "reflink_lag_records", worker=worker, topic=topic))
    return found


def _counted(world: World, name: str, *, worker: str | None = None, **labels: str) -> float:
    total = 0.0
    for process in world.pipeline.processes:
        if process in world.gone or (worker is not None and process.worker != worker):
            continue
        try:
            total += process.metrics().sum(name, **labels)
        except WorkerDied:
            continue
    return total


def _longest(world: World) -> float:
    """Lower bound of the bucket that the linker's longest batch fell into, in seconds."""
    try:
        buckets = world.members("linker")[0].metrics().find("reflink_stage_seconds_bucket", step="handle")
    except WorkerDied:
        return 0.0
    everything = max((each.value for each in buckets), default=0.0)
    return max((float(each.labels["le"]) for each in buckets if each.value < everything), default=0.0)


def _mark(result: Soak, now: float, what: str) -> None:
    result.marks.append((now, what))


def judge(result: Soak) -> None:
    """Says how much memory grew and what is not as promised, of as much as there is of it.

    Growth is from the second quarter of the time to the last tenth: caches are warm by then.
    """
    if not result.samples:
        result.problems.append("nothing was seen")
        return
    end = result.samples[-1]["seconds"]
    warm = [each for each in result.samples if end * 0.2 <= each["seconds"] <= end * 0.35]
    last = [each for each in result.samples if each["seconds"] >= end * 0.9]
    for worker in WORKERS:
        if warm:
            first, then = (_median([each["rss_mb"][worker] for each in part]) for part in (warm, last))
            result.growth_mb[worker] = round(then - first, 1)
    if end < result.minutes * 60:
        result.problems.append(f"it ran for {end / 60:.1f} of {result.minutes:g} minutes")
    if result.rebalances:
        result.problems.append(f"{result.rebalances} rebalances while nobody came or went")
    if result.restarts:
        result.problems.append(f"{result.restarts} workers ended")
    if result.recovered_s is None:
        result.problems.append("lag did not come down to 0")


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
