"""``python -m tests.campaigns.convergence``: compares the links after random histories with those of a fresh run."""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from tests.campaigns.convergence.machine import Histories
from tests.campaigns.convergence.running import CHUNK, STEPS, run
from tests.campaigns.convergence.searched_machine import SearchedHistories
from tests.campaigns.reporting import write_json


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if a history does not end in the links of a fresh run, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.convergence", description=__doc__)
    parser.add_argument("--examples", type=int, default=2000, metavar="N", help="histories in memory (2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the histories (1)")
    parser.add_argument("--kafka", type=int, default=0, metavar="N", help="histories on a real Kafka (0)")
    parser.add_argument(
        "--engine", choices=("native", "opensearch"), default="native", help="source of candidates on Kafka (native)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report to this file")
    options = parser.parse_args(arguments)
    report: dict[str, Any] = {"machine": describe(), "seed": options.seed, "steps": STEPS}
    logging.disable(logging.ERROR)  # the faults of the histories
    failure = None
    for where, machine in (("in memory", Histories), ("in memory, with a search engine", SearchedHistories)):
        if failure is None:
            failure = _in_memory(where, machine, options.examples, options.seed, report)
    if options.kafka and failure is None:
        from tests.campaigns.convergence.on_kafka import run_histories  # only these histories need a broker

        failure = run_histories(options.kafka, options.seed, report, searched=options.engine != "native")
    report["converged"] = failure is None
    write_json(options.json, report)
    print(json.dumps(report, indent=2))
    if failure is not None:
        print(failure)
    return int(failure is not None)


def _in_memory(where: str, machine: type[Histories], examples: int, seed: int, report: dict[str, Any]) -> str | None:
    """Run the histories chunk by chunk; return the smallest one that does not converge, as text, or None."""
    began, done, failure = time.monotonic(), 0, None
    while done < examples and failure is None:
        number = min(CHUNK, examples - done)
        try:
            run(number, seed * 1_000_003 + done, machine)
        except AssertionError as error:
            failure = str(error)
        done += number
        spent = time.monotonic() - began
        print(f"{done} of {examples} histories {where} in {spent:.0f} s", flush=True)
    report[where] = {**machine.tally.report(), "seconds": round(time.monotonic() - began, 1)}
    return failure


if __name__ == "__main__":
    raise SystemExit(main())
