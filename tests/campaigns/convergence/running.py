"""Runs histories: some for each change of the code, thousands in a campaign."""

from __future__ import annotations

from typing import Final

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.campaigns.convergence.machine import Histories

#: Maximum number of steps of a history.
STEPS: Final = 50
#: Histories per run of hypothesis, which remembers all of them and is slow with thousands.
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
#: Hypothesis limits the time of shrinking itself, to a few minutes.
_PHASES: Final = (Phase.generate, Phase.shrink)


def run(examples: int, seed: int, machine: type[Histories] = Histories, *, shrink: bool = True) -> None:
    """Run ``examples`` histories of this seed. Raises AssertionError with one that does not converge.

    With ``shrink`` it is the smallest one that Hypothesis finds.
    """
    chosen = settings(_COMMON, max_examples=examples, phases=_PHASES if shrink else _PHASES[:1])
    seeded = hypothesis.seed(seed)(type("Histories", (machine,), {}))
    run_state_machine_as_test(seeded, settings=chosen)
