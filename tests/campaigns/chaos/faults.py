"""Applies each kind of fault to a world, and detects whether it took effect."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from tests.campaigns.chaos.orders import Order
from tests.campaigns.chaos.plan import Fault, Kind
from tests.campaigns.chaos.world import World
from workers.devkit.processes import PROGRAM, Process, Worker, WorkerDied, environment
from workers.engine.errors import EngineUnavailable, NotFound
from workers.engine.index import Index, names

#: An order that no victim has carried out after this time is withdrawn.
PATIENCE_S: Final = 300.0
#: Interval at which the action that provokes a phase is repeated.
_PROVOKE_S: Final = 30.0
_READY_S: Final = 300.0
#: How long one of several brokers stays down; the others take over after 5 s.
_AWAY_S: Final = 8.0


class Missed(Exception):
    """The fault did not take effect; the message is the reason."""


def apply(fault: Fault, world: World) -> None:
    """Apply the fault and return when it is over; its consequences may still last. Raises Missed."""
    _DO[fault.kind](fault, world)


def wait_ready(process: Process, world: World, seconds: float = _READY_S) -> None:
    """Wait until the process has joined its group, even if it restarts meanwhile. Raises Missed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if world.failure is not None:
            raise world.failure
        if _ready(process):
            return
        time.sleep(0.1)
    raise Missed(f"{process.worker} {process.slot} was not ready within {seconds:g} s")


def _ready(process: Process) -> bool:
    try:
        return process.alive and process.ready()
    except WorkerDied:  # the world restarts it
        return False


def one_of_two(worker: Worker, world: World) -> Process:
    """Return the oldest process of the worker once another process can take over. Raises Missed."""
    process = world.members(worker)[0]
    wait_ready(process, world)
    if len(world.members(worker)) == 1:
        wait_ready(world.start(worker), world)
    return process


def _kill(fault: Fault, world: World) -> None:
    process = world.members(fault.worker)[0]
    assert fault.phase is not None
    order = Order(fault.number, fault.phase, fault.moment, fault.seconds)
    state = world.state(process)
    if fault.phase != "loading a snapshot":
        wait_ready(process, world)
    order.give(state)

    def provoke() -> None:
        if fault.phase == "loading a snapshot" and _ready(process):  # a process that is still starting is yet to load it
            process.terminate()  # the world restarts it, and it finds the order
        elif fault.phase == "rebalancing":
            _toggle(fault, world)

    try:
        wait_for(lambda: order.done(state), provoke)
    finally:
        Order.withdraw(state)


def wait_for(done: Callable[[], bool], provoke: Callable[[], None] = lambda: None) -> None:
    """Wait until ``done`` returns true, and call ``provoke`` at intervals. Raises Missed."""
    until, again = time.monotonic() + PATIENCE_S, 0.0
    while not done():
        now = time.monotonic()
        if now > until:
            raise Missed(f"no worker reached that phase within {PATIENCE_S:g} s")
        if now >= again:
            again = now + _PROVOKE_S
            provoke()
        time.sleep(0.02)


def _toggle(fault: Fault, world: World) -> None:
    """Add a process of the worker, or remove one if there are several."""
    members = world.members(fault.worker)
    if len(members) > 1:
        wait_ready(members[-1], world)  # a process that stops before it has joined causes no rebalance
        world.remove(members[-1], kill=False)
    else:
        world.start(fault.worker)


def _lose(fault: Fault, world: World) -> None:
    world.remove(one_of_two(fault.worker, world), kill=True)


def _stop_broker(fault: Fault, world: World) -> None:
    index = fault.number % len(world.cluster.brokers.brokers)
    world.cluster.restart(index, kill=fault.kind == "kill the broker", away_s=_AWAY_S)


def _network(fault: Fault, world: World) -> None:
    network = world.cluster.networks[fault.worker]
    assert fault.kind in ("slow", "cut", "hole")
    network.turn(fault.kind)
    try:
        time.sleep(fault.seconds)
    finally:
        network.turn("open")


def _kill_node(fault: Fault, world: World) -> None:
    engine = world.searched()
    index = fault.number % len(engine.nodes)
    engine.kill(index)
    time.sleep(fault.seconds)
    engine.restart(index)


def _pause_node(fault: Fault, world: World) -> None:
    engine = world.searched()
    index = fault.number % len(engine.nodes)
    engine.pause(index)
    time.sleep(fault.seconds)
    engine.resume(index)
    engine.wait()


def _stop_engine(fault: Fault, world: World) -> None:
    engine = world.searched()
    for index in range(len(engine.nodes)):
        engine.kill(index)
    time.sleep(fault.seconds)
    for index in range(len(engine.nodes)):
        engine.restart(index, wait=False)
    engine.wait()


def _kill_indexer(_: Fault, world: World) -> None:
    os.kill(world.members("indexer")[0].pid, signal.SIGKILL)  # the world restarts it


def _delete_index(_: Fault, world: World) -> None:
    """Delete the serving index; over when another one serves."""
    client, served = world.client(), list[str]()

    def serves() -> bool:
        served[:] = names(client, world.alias)
        return bool(served)

    def delete(name: str) -> bool:
        Index(client, name).delete()
        return True

    with closing(client):
        wait_for(lambda: _try(serves))
        former = served[0]
        wait_for(lambda: _try(lambda: delete(former)))
        wait_for(lambda: _try(lambda: serves() and former not in served))


def _try(request: Callable[[], bool]) -> bool:
    """Return the result of a request to the engine; an engine that does not answer gives False."""
    try:
        return request()
    except EngineUnavailable:
        return False
    except NotFound:  # an earlier attempt, whose answer was lost, deleted it
        return True


def _reindex(_: Fault, world: World) -> None:
    """Run the command as an operator does. Raises RuntimeError if it fails."""
    done = subprocess.run(
        [*PROGRAM, "reindex"], env=environment(world.own("indexer", "reindex")), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"reindex ended with exit code {done.returncode}: {done.stderr[-1000:]}")


def _fill_disk(fault: Fault, world: World) -> None:
    """Fill the ledger's disk for a while; its processes end, and restart, until there is space."""
    process = world.members("ledger")[0]
    wait_ready(process, world)
    folder = world.state(process)
    before = sum(count for (worker, _), count in world.ends.items() if worker == "ledger")
    ballast = folder / "ballast"
    if os.path.ismount(folder):
        _fill(ballast)
    else:  # mounting was not permitted: a file size limit makes each write fail until the process restarts
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    try:
        wait_for(lambda: sum(count for (worker, _), count in world.ends.items() if worker == "ledger") > before)
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
    "full disk": _fill_disk,
    "kill a node": _kill_node,
    "pause a node": _pause_node,
    "all nodes down": _stop_engine,
    "kill the indexer": _kill_indexer,
    "two indexers": _toggle,
    "delete the index": _delete_index,
    "reindex": _reindex,
}
