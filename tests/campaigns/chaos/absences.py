"""Absences: a member stops with a batch in flight, its group goes on without it, and the member then resumes that batch."""

from __future__ import annotations

import json
import os
import random
import signal
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final, Literal, TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import MemberToRemove
from kafka.errors import KafkaError, NotCoordinatorError

from tests.campaigns.chaos.faults import Missed, wait_for, wait_ready
from tests.campaigns.chaos.orders import JOINING, Moment, Order, Phase, Until
from tests.campaigns.chaos.world import World
from workers.devkit.processes import WORKERS, Process, Worker
from workers.kafka.clients import connect

#: Processes of each worker, so that another one takes over.
MEMBERS: Final = 2
SESSION_S: Final = 6.0
#: Seconds added to each batch, so that under steady load a batch is always in flight.
BATCH_S: Final = 1.0
#: Minimum and maximum pause before each fault of a group, so that faults hit every moment of the group's rebalances.
_PAUSE_S: Final = (0.5, 3.0)
_PHASES: Final[dict[str, tuple[Phase, ...]]] = {
    "freeze": ("handling", "transaction open", "committing", JOINING),
    "kick": ("transaction open", JOINING, "transaction open", JOINING, "committing"),
}
#: Freezes per kick.
_FREEZES_A_KICK: Final = 2
#: Maximum length of an absence; soon after it the broker would abort an open transaction of the member.
_LONGEST_S: Final = SESSION_S + 7
_WHY: Final = "a kick of the campaign"
#: How long a request is repeated: a killed broker is away for 8 s.
_RETRY_S: Final = 20.0
T = TypeVar("T")


@dataclass(frozen=True)
class Absence:
    """One member stops within a phase, with a batch in flight, and then resumes that batch.

    The member is away for at least ``seconds``, and on a slow machine until the group has committed beyond its batch. A
    freeze is longer than the session. A kick may be shorter: an admin client removes the member from its group at once.
    ``until`` is when the batch resumes, ``delay_s`` the time from the start of the phase to the stop, and ``pause_s`` the
    time to wait before the fault.
    """

    number: int
    kind: Literal["freeze", "kick"]
    worker: Worker
    member: int
    phase: Phase
    moment: Moment
    until: Until
    seconds: float
    delay_s: float
    pause_s: float

    def __str__(self) -> str:
        what = f"{self.number} {self.kind} {self.worker} {self.member}, {self.phase} ({self.moment})"
        return f"{what}, {self.seconds:.1f} s, goes on when {self.until}"


def draw_absences(freezes: int, seed: int) -> list[Absence]:
    """Return ``freezes`` freezes and half as many kicks, spread over workers, members and phases."""
    choice = random.Random(f"absences {seed}")
    counts = {"freeze": freezes, "kick": freezes // _FREEZES_A_KICK}
    kinds = [(kind, phase) for kind, count in counts.items() for phase in islice(cycle(_PHASES[kind]), count)]
    choice.shuffle(kinds)
    found = []
    for number, (kind, phase) in enumerate(kinds, start=1):
        moment: Moment = "entry" if kind == "kick" or phase == JOINING else choice.choice(("entry", "during", "exit"))
        until: Until = choice.choice(("awake", "out", "back") if kind == "freeze" else ("out",))
        worker, member = WORKERS[number % len(WORKERS)], choice.randrange(MEMBERS)
        seconds = choice.uniform(SESSION_S + 1, SESSION_S + 6) if kind == "freeze" else choice.uniform(2, 6)
        delay_s = choice.uniform(0, {"handling": BATCH_S, "transaction open": 0.01}.get(phase, 0.02))
        until = "back" if phase == JOINING else until
        pause_s = choice.uniform(*_PAUSE_S)
        found.append(Absence(number, kind, worker, member, phase, moment, until, seconds, delay_s, pause_s))
    return found


def be_away(absence: Absence, world: World) -> bool:
    """Carry out the absence until the member resumes; return whether the group committed beyond its batch. Raises Missed."""
    time.sleep(absence.pause_s)
    members = world.members(absence.worker)
    for each in members:
        wait_ready(each, world)
    wait_for(lambda: all(_owns_any(each) for each in members))
    process = members[absence.member]
    others, state = [each for each in members if each is not process], world.state(process)
    order = Order(absence.number, absence.phase, absence.moment, absence.delay_s, signal.SIGSTOP, absence.until)
    admin: Any = connect(world.kafka, KafkaAdminClient)
    order.give(state)
    try:
        if absence.phase == JOINING:
            # When another member has to rejoin, the victim has to rejoin too, with its batch still in flight.
            wait_for(lambda: order.held(state))
            wait_for(lambda: order.done(state), lambda: _kick_all(admin, world, others[0]))
        else:
            wait_for(lambda: order.done(state))
        began = time.monotonic()
        member, partitions = Order.victim(state)
        if absence.kind == "kick":
            _kick(admin, world, absence.worker, member)
        before = _committed(admin, world, absence.worker, partitions)

        def overtaken() -> bool:
            after = _committed(admin, world, absence.worker, partitions)
            return any(offset > before.get(partition, 0) for partition, offset in after.items())

        time.sleep(absence.seconds)
        # Pending offsets of a transaction that is being committed block the group, so it would not go on for a long time.
        while absence.phase != "committing" and not overtaken() and time.monotonic() - began < _LONGEST_S:
            time.sleep(0.1)
        return overtaken()
    except KafkaError as error:
        raise Missed(f"{type(error).__name__}: {error}") from None
    finally:
        Order.withdraw(state)
        os.kill(process.pid, signal.SIGCONT)
        admin.close()


def _kick(admin: Any, world: World, worker: Worker, member: str) -> None:
    """Remove a member from its group."""
    removed = [MemberToRemove(member_id=member, reason=_WHY)]
    _retried(world, admin, lambda client: client.remove_group_members(world.kafka.topic(worker), removed))


def _kick_all(admin: Any, world: World, process: Process) -> None:
    """Remove a process from its group by the member ids that it keeps on its disk."""
    for file in world.state(process).glob("*.member"):
        _kick(admin, world, process.worker, file.read_text())


def _retried(world: World, admin: Any, request: Callable[[Any], T]) -> T:
    """Repeat a request while a killed broker is away. Raises its KafkaError after ``_RETRY_S``."""
    until = time.monotonic() + _RETRY_S
    while True:
        try:
            return request(admin)
        except KafkaError as error:
            if time.monotonic() > until:
                raise
            if isinstance(error, NotCoordinatorError):  # kafka-python's client keeps a coordinator that has moved
                with suppress(KafkaError), closing(connect(world.kafka, KafkaAdminClient)) as fresh:
                    return request(fresh)
        time.sleep(0.2)


def _committed(admin: Any, world: World, worker: Worker, partitions: list[tuple[str, int]]) -> dict[TopicPartition, int]:
    """Return the committed offsets of the worker's group for the partitions that have one."""
    group = world.kafka.topic(worker)
    requested = {group: [TopicPartition(world.kafka.topic(topic), number) for topic, number in partitions]}
    offsets: Any = _retried(world, admin, lambda client: client.list_group_offsets(requested))[group]
    return {partition: found.offset for partition, found in offsets.items() if found is not None}


def _owns_any(process: Process) -> bool:
    """Return whether the worker's readiness endpoint reports that it owns partitions."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{process.port}/health/ready", timeout=5) as answer:
            return bool(json.load(answer)["partitions"])
    except OSError:  # the supervisor is restarting it
        return False
