"""What a victim is told: in which phase it ends, at which moment, and by which signal. A file in its state folder."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal, get_args

Phase = Literal["handling", "transaction open", "committing", "rebalancing", "writing the store", "loading a snapshot"]
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
#: On entering the phase, within it after ``delay_s``, or on leaving it.
Moment = Literal["entry", "during", "exit"]

_ORDER: Final = "order.json"
_DONE: Final = "order-done.json"


@dataclass(frozen=True)
class Order:
    """One signal that the victim sends itself; numbers grow, so that each is carried out once."""

    number: int
    phase: Phase
    moment: Moment = "entry"
    delay_s: float = 0.0
    signal: int = signal.SIGKILL

    def give(self, state: Path) -> None:
        """Lays the order where the victim looks."""
        _write(state / _ORDER, self)

    @classmethod
    def read(cls, state: Path) -> Order | None:
        """The order that waits to be carried out."""
        order = _read(state / _ORDER)
        done = _read(state / _DONE)
        return None if order is None or (done is not None and done.number >= order.number) else order

    def carry_out(self, state: Path) -> None:
        """By the victim: it notes that it was here, and sends itself the signal."""
        _write(state / _DONE, self)
        os.kill(os.getpid(), self.signal)

    def done(self, state: Path) -> bool:
        """Whether it was carried out."""
        done = _read(state / _DONE)
        return done is not None and done.number == self.number

    @staticmethod
    def withdraw(state: Path) -> None:
        """Takes back what waits."""
        (state / _ORDER).unlink(missing_ok=True)


def _write(path: Path, order: Order) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(order)))
    partial.replace(path)


def _read(path: Path) -> Order | None:
    try:
        return Order(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
