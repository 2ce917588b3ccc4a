"""The command ``withdraw``: withdraw papers."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from reflink.terminal import complain, one_line
from workers.cli.command import AddCommand, ended_by_sigterm, tool_logs
from workers.config import settings as configuration
from workers.config.settings import KafkaSettings

if TYPE_CHECKING:
    from workers.tools.withdrawal import Outcome, Withdrawal

_EPILOG: Final = """\
A withdrawal is a version of the paper without references: it supersedes older versions, and newer versions supersede it.
The default version is one more than the newest that the ledger knows. The command reads it from the topic manifests, one
partition for each paper. Then it waits for the ledger and prints the result. It may be run repeatedly.

  reflink-worker withdraw doi:10.5555/a.paper pmid:123
  reflink-worker withdraw doi:10.5555/a.paper --version 20251122221500 --timeout 300

With --json the command prints an object for each paper: paper, outcome (withdrawn, withdrawn-before, superseded, unknown,
unanswered), version (the version sent; null if none), known (the newest version that the ledger knows).

Exit codes: 0 all are withdrawn, now or before; 20 a newer version is current; 21 the ledger does not know the paper; 22 sent,
but no result within --timeout; for several papers the highest of these; 1 failed; 2 usage, nothing was sent; 143 ended by
SIGTERM, else as the workers'.
"""
_CODES: Final[dict[Outcome, int]] = {"withdrawn": 0, "withdrawn-before": 0, "superseded": 20, "unknown": 21, "unanswered": 22}


def add_to(command: AddCommand) -> None:
    """Add the command ``withdraw``."""
    withdraw = command("withdraw", "withdraw papers, their links and their works in the catalog", _withdraw, _EPILOG)
    withdraw.add_argument("ids", nargs="+", metavar="ID", help="work ids, as in links: doi:…, pmid:…, pmcid:…, arxiv:…")
    withdraw.add_argument(
        "--version",
        type=int,
        help="version of the withdrawal (default: one more than the ledger knows); required for unknown papers",
    )
    withdraw.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="maximum wait for the ledger (default 60)"
    )
    withdraw.add_argument("--json", action="store_true", help="print one JSON object per paper and line")


def _withdraw(arguments: argparse.Namespace) -> int:
    import orjson

    from reflink.entities import Ids
    from reflink.workids import work_id
    from workers.tools.withdrawal import LARGEST, withdraw

    if odd := [each for each in arguments.ids if ":" not in each]:
        complain(f"reflink-worker: {odd[0]!r} is not a work id (doi:…, pmid:…, pmcid:…, arxiv:…)")
        return 2
    if arguments.version is not None and not 0 <= arguments.version <= LARGEST:
        complain(f"reflink-worker: --version must be from 0 to {LARGEST}")
        return 2
    settings = configuration.read(KafkaSettings)
    tool_logs("withdraw", quiet=True)
    papers = dict.fromkeys(work_id(Ids(), each) for each in arguments.ids)
    with ended_by_sigterm():
        done = withdraw(settings, papers, arguments.version, arguments.timeout)
    for each in done:
        if arguments.json:
            print(orjson.dumps(asdict(each)).decode())
        elif _CODES[each.outcome]:
            complain(f"reflink-worker: {_line(each, arguments.timeout)}")
        else:
            print(one_line(_line(each, arguments.timeout)))
    return max(_CODES[each.outcome] for each in done)


def _line(done: Withdrawal, timeout_s: float) -> str:
    match done.outcome:
        case "withdrawn":
            return f"{done.paper}: withdrawn as version {done.known}"
        case "withdrawn-before":
            return f"{done.paper}: was withdrawn before, as version {done.known}"
        case "superseded":
            return f"{done.paper}: not withdrawn: version {done.known} is newer: use a higher --version, or omit it"
        case "unknown":
            return (
                f"{done.paper}: not withdrawn: the ledger does not know the paper, and nothing was sent: compare the id with "
                "the keys of its links; use --version for a paper that will arrive later"
            )
        case "unanswered":
            return (
                f"{done.paper}: sent as version {done.version}, but the ledger did not apply it within {timeout_s:g} s: check "
                "that parser and ledger run, then run this command again"
            )
