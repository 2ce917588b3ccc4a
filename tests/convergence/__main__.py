"""``python -m tests.convergence``: thousands of histories in memory, tens on a real Kafka."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from tests.convergence.running import CHUNK, STEPS, run
from tests.convergence.tally import TALLY


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when a history does not end in the links of a fresh run."""
    parser = argparse.ArgumentParser(prog="python -m tests.convergence", description=__doc__)
    parser.add_argument("--examples", type=int, default=2000, metavar="N", help="histories in memory (2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which histories (1)")
    parser.add_argument("--kafka", type=int, default=0, metavar="N", help="histories on a Kafka of its own (0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the figures, for programs")
    options = parser.parse_args(arguments)
    told: dict[str, Any] = {"machine": describe(), "seed": options.seed, "steps": STEPS}
    failure = _in_memory(options.examples, options.seed, told)
    if options.kafka and failure is None:
        from tests.convergence.on_kafka import run_histories  # a broker is needed for nothing else

        failure = run_histories(options.kafka, options.seed, told)
    told["converged"] = failure is None
    if options.json:
        options.json.write_text(json.dumps(told, indent=2) + "\n")
    print(json.dumps(told, indent=2))
    if failure is not None:
        print(failure)
    return int(failure is not None)


def _in_memory(examples: int, seed: int, told: dict[str, Any]) -> str | None:
    """Runs them chunk by chunk; returns the smallest history that does not converge."""
    began, done, failure = time.monotonic(), 0, None
    while done < examples and failure is None:
        number = min(CHUNK, examples - done)
        try:
            run(number, seed * 1_000_003 + done)
        except AssertionError as error:
            failure = str(error)
        done += number
        spent = time.monotonic() - began
        print(f"{done} of {examples} histories in {spent:.0f} s", flush=True)
    told["in memory"] = {**TALLY.told(), "seconds": round(time.monotonic() - began, 1)}
    return failure


if __name__ == "__main__":
    raise SystemExit(main())
