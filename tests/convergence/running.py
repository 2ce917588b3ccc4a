"""Runs histories: some for every change, thousands where there is time."""

from __future__ import annotations

from typing import Final

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.convergence.machine import Histories

#: Steps of a history at most.
STEPS: Final = 50
#: Histories that hypothesis plans together; it remembers them all, and grows slow with thousands.
CHUNK: Final = 250

_COMMON: Final = settings(
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    print_blob=False,
    verbosity=Verbosity.quiet,
    suppress_health_check=list(HealthCheck),
)
#: How long hypothesis may make a find smaller is its affair: minutes at most.
_PHASES: Final = (Phase.generate, Phase.shrink)


def run(examples: int, seed: int) -> None:
    """So many histories of this seed. Raises AssertionError with the smallest one that does not converge."""
    chosen = settings(_COMMON, max_examples=examples, phases=_PHASES)
    seeded = hypothesis.seed(seed)(type("Histories", (Histories,), {}))
    run_state_machine_as_test(seeded, settings=chosen)
