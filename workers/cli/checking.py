"""The command that sends a paper of its own through the pipeline: check."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from workers import settings as configuration
from workers.cli.command import AddCommand, ended_by_sigterm
from workers.settings import KafkaSettings

if TYPE_CHECKING:
    from workers.checking import Step

_EPILOG: Final = """\
A work of the check's own enters the catalog, a paper that cites it goes through parser, linker, fallback and ledger, and
its link is waited for. Then both are withdrawn, and it is waited until they are gone; on failure too they are withdrawn.
Their identifiers begin with 10.5555/reflink-check. and are new each time. What stays is one line of the ledger's memory,
that the paper was withdrawn. Behind much lag a longer --timeout is needed.

Exit codes: 0 a link came out and is gone, 1 not: the message names the worker to look at, 143 ended by SIGTERM.
"""


def add_to(command: AddCommand) -> None:
    """Adds check."""
    check = command("check", "see a link come out: send a paper of its own, then take it back", _check)
    check.epilog, check.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    check.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="for the link, and again for the withdrawal (default 60)"
    )
    check.add_argument("--json", action="store_true", help="the result as an object")


def _check(arguments: argparse.Namespace) -> int:
    from workers.checking import CheckFailed, check

    steps: list[Step] = []

    def tell(step: Step) -> None:
        steps.append(step)
        if not arguments.json:
            print(f"{step.seconds:7.2f} s  {step.name}: {step.detail}", flush=True)

    failure: CheckFailed | None = None
    with ended_by_sigterm():
        try:
            check(configuration.read(KafkaSettings), arguments.timeout, tell)
        except CheckFailed as error:
            failure = error
    if arguments.json:
        result = {"ok": failure is None, "steps": [asdict(step) for step in steps]}
        print(json.dumps(result if failure is None else {**result, "failure": str(failure)}))
    if failure is not None:
        raise failure
    return 0
