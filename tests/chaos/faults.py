"""What each kind of fault does to a world, and whether it was done."""

from __future__ import annotations

import errno
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.chaos.orders import Order
from tests.chaos.plan import Fault, Kind
from tests.chaos.world import World
from workers.local.pipeline import Process, Worker, WorkerDied

#: An order that nothing carries out for so long is withdrawn.
PATIENCE_S: Final = 120.0
#: What brings a phase about is repeated after so long.
_PROVOKE_S: Final = 30.0
_READY_S: Final = 120.0
#: Beyond the workers' session timeout and the broker's transaction timeout, so that others have taken over.
FROZEN_S: Final = 14.0


class Missed(Exception):
    """The fault did not come about; the reason is its text."""


def apply(fault: Fault, world: World) -> None:
    """Does it, and returns when it is done; what follows from it may still go on. Raises Missed."""
    _DO[fault.kind](fault, world)


def wait_ready(process: Process, world: World, seconds: float = _READY_S) -> None:
    """Until the process has joined its group, however often it is started anew meanwhile. Raises Missed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if world.failure is not None:
            raise world.failure
        try:
            if process.alive and process.ready():
                return
        except WorkerDied:
            pass  # the world starts it again
        time.sleep(0.1)
    raise Missed(f"{process.worker} {process.slot} was not ready within {seconds:g} s")


def one_of_two(worker: Worker, world: World) -> Process:
    """The oldest of its kind, once there is another that can take over. Raises Missed."""
    process = world.members(worker)[0]
    wait_ready(process, world)
    if len(world.members(worker)) == 1:
        wait_ready(world.start(worker), world)
    return process


def _kill(fault: Fault, world: World) -> None:
    process = world.members(fault.worker)[0]
    order = _order(fault, signal.SIGKILL)
    state = world.state(process)
    if fault.phase != "loading a snapshot":
        wait_ready(process, world)
    order.give(state)

    def provoke() -> None:
        if fault.phase == "loading a snapshot":
            process.terminate()  # it is started again and finds the order
        elif fault.phase == "rebalancing":
            _toggle(fault, world)

    try:
        _await(lambda: order.done(state), provoke)
    finally:
        Order.withdraw(state)


def _freeze(fault: Fault, world: World) -> None:
    process = one_of_two(fault.worker, world)
    order, state = _order(fault, signal.SIGSTOP), world.state(process)
    order.give(state)
    try:
        _await(lambda: order.done(state))
        time.sleep(FROZEN_S)
    finally:
        Order.withdraw(state)
        os.kill(process.pid, signal.SIGCONT)


def _order(fault: Fault, number: int) -> Order:
    assert fault.phase is not None
    return Order(fault.number, fault.phase, fault.moment, fault.seconds, number)


def _await(done: Callable[[], bool], provoke: Callable[[], None] = lambda: None) -> None:
    """Until it is done; what brings it about is done again from time to time. Raises Missed."""
    until, again = time.monotonic() + PATIENCE_S, 0.0
    while not done():
        now = time.monotonic()
        if now > until:
            raise Missed(f"nothing came to that phase within {PATIENCE_S:g} s")
        if now >= again:
            again = now + _PROVOKE_S
            provoke()
        time.sleep(0.02)


def _toggle(fault: Fault, world: World) -> None:
    """One more worker of the kind, or one less."""
    members = world.members(fault.worker)
    if len(members) > 1:
        world.remove(members[-1], kill=False)
    else:
        world.start(fault.worker)


def _lose(fault: Fault, world: World) -> None:
    world.remove(one_of_two(fault.worker, world), kill=True)


def _stop_broker(fault: Fault, world: World) -> None:
    world.cluster.restart(kill=fault.kind == "kill the broker")


def _network(fault: Fault, world: World) -> None:
    proxy = world.cluster.proxies[fault.worker]
    assert fault.kind in ("slow", "cut", "hole")
    proxy.turn(fault.kind)
    try:
        time.sleep(fault.seconds)
    finally:
        proxy.turn("open")


def _fill_disk(fault: Fault, world: World) -> None:
    """The ledger's disk is full for a while, and its workers end, and end again, until there is space."""
    process = world.members("ledger")[0]
    wait_ready(process, world)
    folder = world.state(process)
    before = sum(count for (worker, _), count in world.ends.items() if worker == "ledger")
    ballast = folder / "ballast"
    if os.path.ismount(folder):
        _fill(ballast)
    else:  # nothing could be mounted: whatever it writes is too large, until it is started anew
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    try:
        _await(lambda: sum(count for (worker, _), count in world.ends.items() if worker == "ledger") > before)
        time.sleep(fault.seconds)
    finally:
        ballast.unlink(missing_ok=True)


def _fill(ballast: Path) -> None:
    try:
        with ballast.open("wb") as file:
            while True:
                file.write(bytes(1 << 20))
                file.flush()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


_DO: Final[dict[Kind, Callable[[Fault, World], None]]] = {
    "kill": _kill,
    "lose": _lose,
    "join": _toggle,
    "restart the broker": _stop_broker,
    "kill the broker": _stop_broker,
    "slow": _network,
    "cut": _network,
    "hole": _network,
    "freeze": _freeze,
    "full disk": _fill_disk,
}
