"""Disturbed runs, and the undisturbed run that they are compared with."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final

from reflink.entities import Work
from reflink.errors import ReflinkError
from tests.campaigns.chaos.absences import draw_absences
from tests.campaigns.chaos.cluster import Cluster
from tests.campaigns.chaos.faults import Missed, apply
from tests.campaigns.chaos.full_load import FULL_LOAD, disturb_groups
from tests.campaigns.chaos.plan import Fault, draw, with_engine
from tests.campaigns.chaos.verdict import Verdict
from tests.campaigns.chaos.world import World
from tests.data import CACHE
from workers.catalog.bulk_load import load
from workers.devkit.search_engine import SearchEngine

#: Papers per second during the faults: enough to keep the pipeline busy, and few enough that it keeps up.
PACE: Final = 3.0
#: Kills for each time that every fault of the engine occurs, in each of both runs.
_KILLS_A_ROUND: Final = 40
Log = Callable[[str], None]
#: Disturbs a world and records the disturbances in the verdict.
Disturb = Callable[[World, Verdict], None]


class Campaign:
    """Disturbed runs on one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        works: Sequence[Work],
        snapshot: Path,
        log: Log,
        engine: SearchEngine | None = None,
    ) -> None:
        self.cluster, self.folder, self.works, self.snapshot, self.log = cluster, folder, works, snapshot, log
        self.engine = engine
        self.verdicts: list[Verdict] = []

    def disturbed(self, name: str, disturb: Disturb, **settings: Any) -> tuple[Verdict, str]:
        """Send papers, disturb the pipeline, and wait until everything is linked.

        Returns the verdict without the checker's findings, and the run's topic prefix. ``settings`` are arguments of World.
        """
        started = time.monotonic()
        verdict = Verdict(name, 0, 0.0)
        with self.world(name, **settings) as world:
            self.log(f"{name}: the workers are ready after {time.monotonic() - started:.0f} s")
            world.feed()
            disturb(world, verdict)
            world.stop_feeding()
            self.log(f"{name}: {world.sent} papers were sent, waiting until all is linked")
            world.settle()
            verdict.close(world)
        verdict.seconds = round(time.monotonic() - started, 1)
        self.verdicts.append(verdict)
        return verdict, world.kafka.topic_prefix

    def world(self, name: str, **settings: Any) -> World:
        """Return a run on the cluster. ``settings`` are arguments of World."""
        folder = self.folder / name.replace(" ", "-")
        return World(self.cluster, folder, self.works, self.snapshot, engine=self.engine, **settings)

    def check(self, verdict: Verdict, prefix: str, like: str | None = None, beyond: str | None = None) -> None:
        """Add the checker's findings to the verdict; if there are problems, keep the logs of the workers."""
        verdict.problems = verdict.check(self.cluster, prefix, like=like, beyond=beyond)
        self.log(f"{verdict.world}: {verdict.counts}; problems: {verdict.problems or 'none'}")
        if verdict.problems:
            kept = Path(tempfile.mkdtemp(prefix="reflink-chaos-logs-"))
            for logs in self.folder.glob("*/logs"):
                shutil.copytree(logs, kept / logs.parent.name)
            self.log(f"the logs of the workers are in {kept}")

    def apply_all(self, faults: Sequence[Fault]) -> Disturb:
        """Return a function that applies the faults one after the other."""

        def disturb(world: World, verdict: Verdict) -> None:
            for fault in faults:
                began = time.monotonic()
                try:
                    apply(fault, world)
                except Missed as reason:
                    verdict.missed.append(f"{fault}: {reason}")
                    self.log(f"{verdict.world}: {fault}: missed: {reason}")
                    continue
                if fault.kind == "kill":
                    verdict.kills[str(fault.phase)] += 1
                    verdict.victims[fault.worker] += 1
                else:
                    verdict.others[fault.kind] += 1
                self.log(f"{verdict.world}: {fault}: {time.monotonic() - began:.1f} s")

        return disturb


def campaign(
    kills: int,
    freezes: int,
    brokers: int,
    seed: int,
    works: Sequence[Work],
    snapshot: Path,
    log: Log,
    checked: Callable[[Sequence[Verdict]], object] = lambda _: None,
    *,
    nodes: int = 0,
) -> list[Verdict]:
    """Run three quarters of the faults with a fixed catalog, the absences under full load, and the rest with a growing catalog.

    If ``kills`` or ``freezes`` is 0, the campaign omits the corresponding runs. It calls ``checked`` with the verdicts so far
    after each check. ``nodes``: nodes of a search engine that proposes the candidates, with faults of its own; 0: no engine.
    """
    faults = draw(kills, seed) if kills else []
    fixed_faults, growing_faults = faults[: len(faults) * 3 // 4], faults[len(faults) * 3 // 4 :]
    if nodes and kills:
        rounds = max(1, kills // _KILLS_A_ROUND)
        fixed_faults = with_engine(fixed_faults, rounds, seed)
        growing_faults = with_engine(growing_faults, rounds, seed + 1)
    with (
        tempfile.TemporaryDirectory(prefix="reflink-chaos-") as name,
        Cluster(Path(name) / "kafka", brokers) as cluster,
        SearchEngine.start(nodes=nodes, cache=CACHE) if nodes else nullcontext() as engine,
    ):
        runs = Campaign(cluster, Path(name), works, snapshot, log, engine)
        fixed: list[tuple[Verdict, str]] = []

        def check(run: tuple[Verdict, str], *, like: str | None = None, beyond: str | None = None) -> None:
            runs.check(*run, like, beyond)
            checked(runs.verdicts)

        if kills:
            fixed.append(runs.disturbed("fixed catalog", runs.apply_all(fixed_faults), pace=PACE, offer_papers="false"))
        if freezes:
            absences = draw_absences(freezes, seed)
            fixed.append(runs.disturbed("full load", lambda *run: disturb_groups(absences, seed, log, *run), **FULL_LOAD))
        for run in fixed:
            check(run)
        log("the same papers, undisturbed")
        with runs.world("quiet", pace=None, offer_papers="false") as quiet:
            quiet.feed_until(max((verdict.papers for verdict, _ in fixed), default=0))
            quiet.settle()
        for run in fixed:
            check(run, like=quiet.kafka.topic_prefix)
        if kills:
            grown = runs.disturbed("growing catalog", _growing(runs.apply_all(growing_faults)), pace=PACE, offer_papers="true")
            check(grown, beyond=quiet.kafka.topic_prefix)
        return runs.verdicts


def _growing(disturb: Disturb) -> Disturb:
    """Load two more works per second into the catalog during the disturbances."""

    def disturb_and_load(world: World, verdict: Verdict) -> None:
        stop = threading.Event()

        def load_slowly() -> None:
            for number, work in enumerate(world.works):
                if stop.wait(0.5):
                    return
                more = work.model_copy(
                    update={"id": f"made:{number}", "title": f"{work.title} again {number}", "ids": type(work.ids)()}
                )
                with suppress(ReflinkError):  # the broker is unavailable
                    load([more], world.kafka)

        loading = threading.Thread(target=load_slowly, daemon=True)
        loading.start()
        try:
            disturb(world, verdict)
        finally:
            stop.set()
            loading.join()

    return disturb_and_load
