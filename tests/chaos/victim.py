"""A worker that ends itself where it is told to: ``python -m tests.chaos.victim linker``.

It is the real command. The methods in which a phase begins and ends are wrapped; on entering one the victim looks for an
order in its state folder. So a kill hits the phase it was drawn for, at any speed of the machine.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka import KafkaProducer

from reflink.catalog import Catalog
from tests.chaos.orders import Order, Phase
from workers import runtime
from workers.cli import main
from workers.ledger.store import PartitionStore
from workers.polling import Poller


class Victim:
    """Looks for orders and carries them out."""

    def __init__(self, state: Path) -> None:
        self.state = state
        #: Which entry into each phase is going on, None outside.
        self._within: dict[Phase, int | None] = {}
        self._entries = 0
        self._patience: dict[int, float] = {}

    def enter(self, phase: Phase) -> None:
        """The phase begins."""
        self._entries += 1
        self._within[phase] = self._entries
        order = Order.read(self.state)
        if order is None or order.phase != phase:
            return
        if order.moment == "entry":
            order.carry_out(self.state)
        elif order.moment == "during":
            threading.Thread(target=self._later, args=(order, self._entries), daemon=True).start()

    def leave(self, phase: Phase) -> None:
        """The phase is over."""
        order = Order.read(self.state)
        if order is not None and order.phase == phase and order.moment == "exit":
            order.carry_out(self.state)
        self._within[phase] = None

    def inside(self, phase: Phase) -> bool:
        """Whether it goes on."""
        return self._within.get(phase) is not None

    def _later(self, order: Order, entry: int) -> None:
        delay = self._patience.setdefault(order.number, order.delay_s)
        time.sleep(delay)
        if self._within.get(order.phase) == entry:
            order.carry_out(self.state)
        else:  # it was over before: sooner the next time
            self._patience[order.number] = delay / 2

    @contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """All that is done within."""
        self.enter(phase)
        try:
            yield
        finally:
            self.leave(phase)


def wrap(owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces a method or function by what ``around`` makes of it."""
    setattr(owner, name, around(getattr(owner, name)))


def arm(victim: Victim) -> None:
    """Wraps what the phases consist of."""

    def within(phase: Phase) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def around(method: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(*arguments: Any, **named: Any) -> Any:
                with victim.phase(phase):
                    return method(*arguments, **named)

            return wrapped

        return around

    def opening(method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            result = method(*arguments, **named)
            victim.enter("transaction open")
            return result

        return wrapped

    def committing(method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            victim.leave("transaction open")
            with victim.phase("committing"):
                return method(*arguments, **named)

        return wrapped

    def joining(method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            result = method(*arguments, **named)
            if result != victim.inside("rebalancing"):
                (victim.enter if result else victim.leave)("rebalancing")
            return result

        return wrapped

    wrap(runtime, "judge", within("handling"))
    wrap(Poller, "_joining", joining)
    wrap(KafkaProducer, "begin_transaction", opening)
    wrap(KafkaProducer, "commit_transaction", committing)
    for name in ("on_partitions_revoked", "on_partitions_assigned", "on_partitions_lost"):
        wrap(Poller, name, within("rebalancing"))
    wrap(PartitionStore, "write", within("writing the store"))
    # A class method: what is wrapped is bound to the class already.
    opened = Catalog.open
    Catalog.open = staticmethod(within("loading a snapshot")(opened))  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    arm(Victim(Path(os.environ["REFLINK_STATE_DIR"])))
    sys.exit(main())
