"""The sequence of faults, drawn from a seed, with each phase and each kind often enough."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tests.campaigns.chaos.orders import PHASES, Moment, Phase
from workers.devkit.processes import WORKERS, Worker

#: Minimum number of kills per phase.
LEAST: Final = 3
Kind = Literal[
    "kill",  # SIGKILL within a phase; the slot restarts, as a container does
    "lose",  # SIGKILL, and the slot never restarts, as after the loss of a pod or a node
    "join",  # one more process of the worker, or one less
    "restart the broker",  # orderly stop; with three brokers, of one of them
    "kill the broker",
    "slow",  # the network between one kind of worker and the broker
    "cut",
    "hole",
    "full disk",  # under the ledger's store
    "kill a node",  # of the search engine; it starts again on its data
    "pause a node",  # SIGSTOP, then SIGCONT
    "all nodes down",
    "kill the indexer",
    "two indexers",  # one more indexer, or one less
    "delete the index",  # the one that serves; over when another one serves
    "reindex",
]
OTHERS: Final[tuple[Kind, ...]] = (
    "join", "cut", "kill the broker", "full disk", "lose", "slow", "hole", "restart the broker",
)  # fmt: skip
#: Faults of the search engine and of what fills it.
OF_ENGINE: Final[tuple[Kind, ...]] = (
    "kill a node", "two indexers", "pause a node", "delete the index", "kill the indexer", "all nodes down", "reindex",
)  # fmt: skip
#: Kills per other fault; each other kind occurs at least once.
_SHARE: Final = 4
#: Upper bound of the delay into each phase, in seconds. If the phase is shorter, the victim halves the delay until it hits.
_LONG: Final[dict[Phase, float]] = {
    "handling": 0.1, "transaction open": 0.01, "committing": 0.02, "rebalancing": 0.02, "writing the store": 0.002,
    "loading a snapshot": 0.005,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One disturbance of the pipeline. ``seconds``: for a kill, the delay into the phase; otherwise, the duration."""

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
    """Return ``kills`` kills, each phase at least LEAST times if that fits, with the other faults between them."""
    choice = random.Random(seed)
    phases = [phase for phase in PHASES for _ in range(LEAST)]
    phases += [choice.choice(PHASES) for _ in range(kills - len(phases))]
    choice.shuffle(phases)
    others: list[Kind] = []
    count = max(kills // _SHARE, len(OTHERS))
    while len(others) < count:
        others += choice.sample(OTHERS, len(OTHERS))
    kinds: list[tuple[Kind, Phase | None]] = [("kill", phase) for phase in phases[:kills]]
    for kind in others[:count]:
        kinds.insert(choice.randint(0, len(kinds)), (kind, None))
    return [_fault(number, kind, phase, choice) for number, (kind, phase) in enumerate(kinds, start=1)]


def with_engine(faults: Sequence[Fault], rounds: int, seed: int) -> list[Fault]:
    """Return the faults with each fault of the engine ``rounds`` times among them."""
    choice, mixed = random.Random(f"engine {seed}"), list(faults)
    number = max((fault.number for fault in faults), default=0)
    for kind in (kind for _ in range(rounds) for kind in choice.sample(OF_ENGINE, len(OF_ENGINE))):
        number += 1
        longest = {"kill a node": 5.0, "pause a node": 20.0, "all nodes down": 8.0}.get(kind, 0.0)
        mixed.insert(
            choice.randint(0, len(mixed)), Fault(number, kind, "indexer", seconds=choice.uniform(longest / 8, longest))
        )
    return mixed


def _fault(number: int, kind: Kind, phase: Phase | None, choice: random.Random) -> Fault:
    if phase is not None:
        moment = choice.choice(("entry", "during", "exit"))
        return Fault(number, kind, choice.choice(reached(phase)), phase, moment, choice.uniform(0, _LONG[phase]))
    worker: Worker = "ledger" if kind == "full disk" else choice.choice(WORKERS)
    longest = {"slow": 6.0, "cut": 8.0, "hole": 12.0, "full disk": 5.0}.get(kind, 0.0)
    return Fault(number, kind, worker, seconds=choice.uniform(longest / 4, longest))


def reached(phase: Phase) -> tuple[Worker, ...]:
    """Return the workers that go through the phase."""
    some: dict[Phase, tuple[Worker, ...]] = {"writing the store": ("ledger",), "loading a snapshot": ("linker", "fallback")}
    return some.get(phase, WORKERS)
