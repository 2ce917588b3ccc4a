"""Steady load with a batch always in flight, while members of all four groups are absent for a while and return."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from tests.campaigns import threads
from tests.campaigns.chaos.absences import BATCH_S, MEMBERS, SESSION_S, Absence, be_away
from tests.campaigns.chaos.faults import Missed
from tests.campaigns.chaos.verdict import Verdict
from tests.campaigns.chaos.world import World
from workers.devkit.processes import WORKERS

#: With several brokers: minimum and maximum seconds between two kills of a broker, and seconds that it stays down.
_BROKER_EVERY_S: Final = (30.0, 60.0)
_BROKER_AWAY_S: Final = 8.0
#: Arguments of World.
FULL_LOAD: Final[dict[str, Any]] = {
    "pace": 8.0,  # more than one paper for each batch and worker
    "members": MEMBERS,
    "program": (sys.executable, "-m", "tests.campaigns.chaos.victim", "--batch-s", str(BATCH_S)),
    "offer_papers": "false",
    "session_timeout_s": SESSION_S,
    # In most cases, a transaction that was open when its worker froze must outlive the freeze.
    "transaction_timeout_s": 15,
    "batch_records": 64,
    "batch_target_s": 60,
}


def disturb_groups(absences: Sequence[Absence], seed: int, log: Callable[[str], None], world: World, verdict: Verdict) -> None:
    """Carry out the absences of all groups at the same time, those of one group one after the other.

    With several brokers, also kill one of them at intervals. Raises the first failure of any thread.
    """
    failures: list[BaseException] = []
    over = threading.Event()

    def disturb_group(worker: str) -> None:
        for absence in absences:
            if absence.worker != worker:
                continue
            if failures or world.failure is not None:
                return
            try:
                overtaken = be_away(absence, world)
            except Missed as reason:
                verdict.missed.append(f"{absence}: {reason}")
                log(f"{verdict.world}: {absence}: missed: {reason}")
                continue
            verdict.others[f"{absence.kind}, {absence.phase}"] += 1
            verdict.overtaken[absence.kind] += overtaken
            log(f"{verdict.world}: {absence}{': its group went on' if overtaken else ''}")

    def kill_brokers() -> None:
        choice = random.Random(f"brokers {seed}")
        count = len(world.cluster.brokers.brokers)
        while count > 1 and not over.wait(choice.uniform(*_BROKER_EVERY_S)):
            index = choice.randrange(count)
            world.cluster.restart(index, kill=True, away_s=_BROKER_AWAY_S)
            verdict.others["kill the broker"] += 1
            log(f"{verdict.world}: broker {index + 1} of {count} was killed for {_BROKER_AWAY_S:g} s")

    groups = [threads.start(partial(disturb_group, worker), failures.append) for worker in WORKERS]
    brokers = threads.start(kill_brokers, failures.append)
    for thread in groups:
        thread.join()
    over.set()
    brokers.join()
    for error in (*failures, world.failure):
        if error is not None:
            raise error
