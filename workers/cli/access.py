"""The command that shows and makes the rights of workers and tools: acls."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Final

from workers import settings as configuration
from workers.access import TOOLS, give, tool_grants, worker_grants
from workers.cli.command import AddCommand
from workers.settings import KafkaSettings

WORKERS: Final = ("parser", "linker", "fallback", "ledger")
_EPILOG: Final = """\
examples:
  reflink-worker acls                                     of all workers and tools, as arguments of kafka-acls.sh
  reflink-worker acls parser --principal User:papers-1    of one, for a user of another name
  reflink-worker acls --json | jq …                       as objects
  reflink-worker acls --apply                             made on the broker, as a user who may alter its ACLs

Rights are added and never taken away. The names are those of REFLINK_TOPIC_PREFIX.
"""


def add_to(command: AddCommand) -> None:
    """Adds acls."""
    acls = command("acls", "the least rights of each worker and tool on the broker", _acls)
    acls.formatter_class = argparse.RawDescriptionHelpFormatter
    acls.epilog = _EPILOG
    acls.add_argument("names", nargs="*", metavar="WORKER", help=f"of {', '.join((*WORKERS, *TOOLS))} (default: all)")
    acls.add_argument(
        "--principal", default="User:{worker}", help="who gets them; {worker} is the worker's or tool's name (User:{worker})"
    )
    shown = acls.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="an array of objects instead of arguments")
    shown.add_argument("--apply", action="store_true", help="create them on the broker")


def _acls(arguments: argparse.Namespace) -> int:
    settings = configuration.read(KafkaSettings)
    names = tuple(dict.fromkeys(arguments.names)) or (*WORKERS, *TOOLS)
    if unknown := [name for name in names if name not in (*WORKERS, *TOOLS)]:
        print(f"reflink-worker: {unknown[0]!r} is none of {', '.join((*WORKERS, *TOOLS))}", file=sys.stderr)
        return 2
    stages = _stages()
    inputs = {topic for stage in stages.values() for topic in (*stage.inputs, *stage.background_inputs)}
    given = [
        (arguments.principal.replace("{worker}", name), grant)
        for name in names
        for grant in (
            worker_grants(stages[name], settings.topic_prefix)
            if name in stages
            else tool_grants(name, settings.topic_prefix, inputs)
        )
    ]
    if arguments.apply:
        give(settings, given)
        print(f"{len(given)} rights are given on {settings.kafka_bootstrap_servers}")
    elif arguments.json:
        print(json.dumps([{"principal": principal, **vars(grant)} for principal, grant in given], indent=1))
    else:
        for principal, grant in given:
            print(grant.arguments(principal))
    return 0


def _stages() -> dict[str, Any]:
    from workers.fallback import FallbackStage
    from workers.ledger.stage import LedgerStage
    from workers.linker import LinkerStage
    from workers.parser import ParserStage

    stages = {stage.name: stage for stage in (ParserStage, LinkerStage, FallbackStage, LedgerStage)}
    return {name: stages[name] for name in WORKERS}
