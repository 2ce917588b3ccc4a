"""Which faults, in which order: drawn from a seed, every phase and every kind often enough."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final, Literal

from tests.chaos.orders import PHASES, Moment, Phase
from workers.local.pipeline import WORKERS, Worker

#: A phase is hit at least so often.
LEAST: Final = 3
Kind = Literal[
    "kill",  # SIGKILL within a phase; the slot starts again, as a container does
    "lose",  # SIGKILL, and the slot never comes back, as a pod or a node
    "join",  # one more worker of the kind, or one less
    "restart the broker",  # told to stop
    "kill the broker",
    "slow",  # the network between one kind of worker and the broker
    "cut",
    "hole",
    "freeze",  # SIGSTOP within a phase, longer than the session timeout, then SIGCONT
    "full disk",  # under the ledger's store
]
OTHERS: Final[tuple[Kind, ...]] = (
    "join",
    "freeze",
    "cut",
    "kill the broker",
    "full disk",
    "lose",
    "slow",
    "hole",
    "restart the broker",
)
#: Besides the kills: one other fault after so many of them, and each kind once at least.
_SHARE: Final = 4
#: Seconds within a phase, drawn up to these; a phase that is shorter is hit sooner by and by.
_LONG: Final[dict[Phase, float]] = {
    "handling": 0.1,
    "transaction open": 0.01,
    "committing": 0.02,
    "rebalancing": 0.02,
    "writing the store": 0.002,
    "loading a snapshot": 0.005,
}


@dataclass(frozen=True)
class Fault:
    """One thing done to the pipeline. ``seconds``: of a kill or freeze, into the phase; of the rest, how long it lasts."""

    number: int
    kind: Kind
    worker: Worker
    phase: Phase | None = None
    moment: Moment = "entry"
    seconds: float = 0.0

    def __str__(self) -> str:
        where = f" {self.worker}" + (f", {self.phase} ({self.moment})" if self.phase else "")
        return f"{self.number} {self.kind}{where if self.kind not in ('kill the broker', 'restart the broker') else ''}"


def draw(kills: int, seed: int) -> list[Fault]:
    """``kills`` kills, each phase at least LEAST times when that fits, and between them the other faults."""
    choice = random.Random(seed)
    phases = [phase for phase in PHASES for _ in range(LEAST)]
    phases += [choice.choice(PHASES) for _ in range(kills - len(phases))]
    choice.shuffle(phases)
    others: list[Kind] = []
    while len(others) < max(kills // _SHARE, len(OTHERS)):
        others += choice.sample(OTHERS, len(OTHERS))
    others = others[: max(kills // _SHARE, len(OTHERS))]
    kinds: list[tuple[Kind, Phase | None]] = [("kill", phase) for phase in phases[:kills]]
    for kind in others:
        kinds.insert(choice.randint(0, len(kinds)), (kind, None))
    return [_fault(number, kind, phase, choice) for number, (kind, phase) in enumerate(kinds, start=1)]


def _fault(number: int, kind: Kind, phase: Phase | None, choice: random.Random) -> Fault:
    if kind == "freeze":
        phase = choice.choice(("handling", "transaction open", "committing"))
    if phase is not None:
        moment = choice.choice(("entry", "during", "exit"))
        return Fault(number, kind, choice.choice(reached(phase)), phase, moment, choice.uniform(0, _LONG[phase]))
    worker: Worker = "ledger" if kind == "full disk" else choice.choice(WORKERS)
    longest = {"slow": 6.0, "cut": 8.0, "hole": 12.0, "full disk": 5.0}.get(kind, 0.0)
    return Fault(number, kind, worker, seconds=choice.uniform(longest / 4, longest))


def reached(phase: Phase) -> tuple[Worker, ...]:
    """Workers that go through the phase."""
    match phase:
        case "writing the store":
            return ("ledger",)
        case "loading a snapshot":
            return ("linker", "fallback")
        case _:
            return WORKERS
