"""The command ``check``: send a test paper through the pipeline."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from workers.cli.command import AddCommand, ended_by_sigterm
from workers.config import settings as configuration
from workers.config.settings import KafkaSettings

if TYPE_CHECKING:
    from workers.tools.smoke_test import Step

_EPILOG: Final = """\
The check adds a work of its own to the catalog, sends a paper that cites it through parser, linker, fallback and ledger,
and waits for the link. Then it withdraws both, also after a failure, and waits until they are gone. Their identifiers begin
with 10.5555/reflink-check. and are new each time. The ledger's record of the withdrawn paper remains. If the workers have
much lag, the check needs a longer --timeout.

Exit codes: 0 the link appeared and is gone, 1 it did not: the message names the worker to examine, 143 ended by SIGTERM.
"""


def add_to(command: AddCommand) -> None:
    """Add the command ``check``."""
    check = command("check", "test the running pipeline: send a paper, wait for its link, withdraw it", _check, _EPILOG)
    check.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="limit for the link, and again for the withdrawal (default 60)",
    )
    check.add_argument("--json", action="store_true", help="print the result as a JSON object")


def _check(arguments: argparse.Namespace) -> int:
    from workers.tools.smoke_test import CheckFailed, check

    steps: list[Step] = []

    def report(step: Step) -> None:
        steps.append(step)
        if not arguments.json:
            print(f"{step.seconds:7.2f} s  {step.name}: {step.detail}", flush=True)

    failure: CheckFailed | None = None
    with ended_by_sigterm():
        try:
            check(configuration.read(KafkaSettings), arguments.timeout, report)
        except CheckFailed as error:
            failure = error
    if arguments.json:
        result = {"ok": failure is None, "steps": [asdict(step) for step in steps]}
        print(json.dumps(result if failure is None else {**result, "failure": str(failure)}))
    if failure is not None:
        raise failure
    return 0
