"""Orders to a victim: the phase and moment in which it kills or freezes itself, and the signal. Files in its state folder."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from tests.campaigns.reporting import write_json

Phase = Literal[
    "handling", "transaction open", "committing", "rebalancing", "writing the store", "loading a snapshot", "joining"
]
#: The phase between the responses to JoinGroup and to SyncGroup; the plan draws only freezes and kicks for it.
JOINING: Final[Phase] = "joining"
#: The phases for which the plan draws kills.
PHASES: Final[tuple[Phase, ...]] = tuple(phase for phase in get_args(Phase) if phase != JOINING)
#: When the signal is sent: on entering the phase, within it after ``delay_s``, or on leaving it.
Moment = Literal["entry", "during", "exit"]
#: When a victim that was frozen resumes its phase: at once, when its client knows that it has lost its membership, or when
#: it is a member again.
Until = Literal["awake", "out", "back"]

_ORDER: Final = "order.json"
_DONE: Final = "order-done.json"
_HELD: Final = "order-held.json"


@dataclass(frozen=True)
class Order:
    """One signal that the victim sends to itself. Numbers increase, so that each order is carried out once."""

    number: int
    phase: Phase
    moment: Moment = "entry"
    delay_s: float = 0.0
    signal: int = signal.SIGKILL
    until: Until = "awake"

    def give(self, state: Path) -> None:
        """Write the order to the victim's state folder."""
        state.mkdir(parents=True, exist_ok=True)
        write_json(state / _ORDER, asdict(self))

    @classmethod
    def read(cls, state: Path) -> Order | None:
        """Return the order that has not been carried out yet, or None."""
        found, done = _read(state / _ORDER), _read(state / _DONE)
        return None if found is None or (done is not None and done["number"] >= found["number"]) else cls(**found)

    def hold(self, state: Path) -> None:
        """Note, as the victim, that a batch is in flight and stays so until the order is carried out."""
        write_json(state / _HELD, {"number": self.number})

    def held(self, state: Path) -> bool:
        """Return whether the victim keeps a batch in flight for this order."""
        return (_read(state / _HELD) or {}).get("number") == self.number

    def carry_out(self, state: Path, member: str = "", partitions: tuple[tuple[str, int], ...] = ()) -> None:
        """Note, as the victim, that the order is done, the member id and the owned partitions; then send itself the signal."""
        write_json(state / _DONE, {"number": self.number, "member": member, "partitions": partitions})
        os.kill(os.getpid(), self.signal)

    def done(self, state: Path) -> bool:
        """Return whether the order was carried out."""
        return (_read(state / _DONE) or {}).get("number") == self.number

    @staticmethod
    def victim(state: Path) -> tuple[str, list[tuple[str, int]]]:
        """Return member id and partitions (topic without prefix, number) of the victim that carried out the last order."""
        done = _read(state / _DONE) or {}
        return done.get("member", ""), [(topic, partition) for topic, partition in done.get("partitions", ())]

    @staticmethod
    def withdraw(state: Path) -> None:
        """Delete the order, if there is one."""
        (state / _ORDER).unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return found
