"""A worker that kills or freezes itself on order: ``python -m tests.campaigns.chaos.victim [--batch-s S] linker``.

It is the real command with wrappers around the methods in which a phase begins and ends. On entering and leaving a phase,
the victim looks for an order in its state folder. A fault therefore hits the phase for which it was drawn, at any speed of
the machine. ``--batch-s`` adds S seconds to each batch, so that under steady load a batch is always in flight.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kafka import KafkaProducer
from kafka.coordinator.base import BaseCoordinator

from reflink.catalog import Catalog
from tests.campaigns.chaos.orders import JOINING, Order, Phase
from workers.cli import main
from workers.ledger.stores.outcome_store import PartitionStore
from workers.runtime import runtime
from workers.runtime.poll_loop import Poller

#: Maximum time that a victim waits for its group.
_PATIENCE_S: Final = 20.0
_LOOK_S: Final = 0.001


class Victim:
    """Looks for orders and carries them out. ``batch_s``: seconds added to each batch."""

    def __init__(self, state: Path, batch_s: float = 0.0) -> None:
        self.state, self.batch_s = state, batch_s
        #: Number of the current entry into each phase, None outside the phase.
        self._within: dict[Phase, int | None] = {}
        self._entries = 0
        self._patience: dict[int, float] = {}
        #: Orders carried out within a phase, which lasts until the order's condition holds; with the membership at the time.
        self._frozen: dict[Phase, tuple[Order, tuple[str, int]]] = {}
        self.poller: Poller | None = None

    def enter(self, phase: Phase) -> None:
        """Enter the phase."""
        self._entries += 1
        self._within[phase] = self._entries
        order = Order.read(self.state)
        if order is None:
            return
        if order.phase == JOINING and phase == "handling":
            self._hold(order)
        elif order.phase != phase or (phase == JOINING and not order.held(self.state)):
            return
        elif order.moment == "entry":
            self._carry_out(order)
            if phase != JOINING:  # the joining thread must not wait for itself; the thread with the batch waits instead
                self._wait(phase)
        elif order.moment == "during":
            threading.Thread(target=self._later, args=(order, self._entries), daemon=True).start()

    def leave(self, phase: Phase) -> None:
        """Leave the phase."""
        order = Order.read(self.state)
        if order is not None and order.phase == phase and order.moment == "exit":
            self._carry_out(order)
        if phase != JOINING:
            self._wait(phase)
        self._within[phase] = None

    def inside(self, phase: Phase) -> bool:
        """Return whether the phase is in progress."""
        return self._within.get(phase) is not None

    def _carry_out(self, order: Order) -> None:
        member = self._member()
        owned = sorted(self.poller.flow.partitions.owned()) if self.poller is not None else []
        self._frozen[order.phase] = order, member
        order.carry_out(self.state, member[0], tuple(owned))

    def _later(self, order: Order, entry: int) -> None:
        delay = self._patience.setdefault(order.number, order.delay_s)
        time.sleep(delay)
        if self._within.get(order.phase) == entry:
            self._carry_out(order)
        else:  # the phase was over before: use a shorter delay next time
            self._patience[order.number] = delay / 2

    def _hold(self, order: Order) -> None:
        """Keep a batch in flight while the process rejoins its group, until the order's condition holds."""
        order.hold(self.state)
        until = time.monotonic() + _PATIENCE_S
        while not order.done(self.state) and Order.read(self.state) == order and time.monotonic() < until:
            time.sleep(_LOOK_S)
        self._wait(JOINING)

    def _wait(self, phase: Phase) -> None:
        """If the process was frozen within the phase, wait until its client's membership is as the order requires."""
        frozen = self._frozen.pop(phase, None)
        if frozen is None:
            return
        order, before = frozen
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            now = self._member()
            if order.until == "awake" or (now != before and (order.until == "out" or (now[0] and now[1] > 0))):
                return
            time.sleep(_LOOK_S)

    def _member(self) -> tuple[str, int]:
        """Return member id and generation as the client knows them."""
        if self.poller is None:
            return "", -1
        metadata = self.poller.consumer.group_metadata()
        return metadata.member_id, metadata.generation_id

    @contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Enter the phase, and leave it at the end of the context."""
        self.enter(phase)
        try:
            yield
        finally:
            self.leave(phase)


def wrap(owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
    """Replace a method or function; ``wrapper`` gets the original, then the arguments."""
    original = getattr(owner, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        return wrapper(original, *arguments, **named)

    setattr(owner, name, wrapped)


def arm(victim: Victim) -> None:
    """Wrap the methods that make up the phases."""

    def within(phase: Phase) -> Callable[..., Any]:
        def wrapper(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            with victim.phase(phase):
                return method(*arguments, **named)

        return wrapper

    def opening(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        result = method(*arguments, **named)
        victim.enter("transaction open")
        return result

    def committing(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        victim.leave("transaction open")
        with victim.phase("committing"):
            return method(*arguments, **named)

    def joining(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        result = method(*arguments, **named)
        if result != victim.inside("rebalancing"):
            (victim.enter if result else victim.leave)("rebalancing")
        return result

    def handling(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with victim.phase("handling"):
            time.sleep(victim.batch_s)
            return method(*arguments, **named)

    def answered(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        result = method(*arguments, **named)
        with victim.phase(JOINING):
            return result

    def subscribing(method: Callable[..., Any], poller: Poller) -> Any:
        victim.poller = poller
        return method(poller)

    wrap(runtime, "isolate", handling)
    wrap(Poller, "subscribe", subscribing)
    wrap(BaseCoordinator, "_process_join_group_response", answered)
    wrap(Poller, "joining", joining)
    wrap(KafkaProducer, "begin_transaction", opening)
    wrap(KafkaProducer, "commit_transaction", committing)
    for name in ("on_partitions_revoked", "on_partitions_assigned", "on_partitions_lost"):
        wrap(Poller, name, within("rebalancing"))
    wrap(PartitionStore, "write", within("writing the store"))
    wrap(Catalog, "open", within("loading a snapshot"))  # a class method, which is called on the class


if __name__ == "__main__":
    slower = float(sys.argv[2]) if sys.argv[1] == "--batch-s" else 0.0
    if slower:
        del sys.argv[1:3]
    arm(Victim(Path(os.environ["REFLINK_STATE_DIR"]), slower))
    sys.exit(main())
