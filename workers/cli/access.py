"""The command ``acls``: print or create the access rights of workers and tools."""

from __future__ import annotations

import argparse
import json
from typing import Final

from reflink.terminal import complain
from workers.cli.command import AddCommand
from workers.cli.processes import stage_class
from workers.config import settings as configuration
from workers.config.settings import KafkaSettings
from workers.tools.acls import TOOLS, give, tool_grants, worker_grants

WORKERS: Final = ("parser", "linker", "fallback", "ledger")
_EPILOG: Final = """\
examples:
  reflink-worker acls                                     print all rights, as arguments of kafka-acls.sh
  reflink-worker acls parser --principal User:papers-1    print the rights of the parser, for this user
  reflink-worker acls --json | jq …                       print them as JSON
  reflink-worker acls --apply                             create them on the broker; the user must be allowed to alter ACLs

The command adds rights and never removes any. Topics, groups and transactional ids begin with REFLINK_TOPIC_PREFIX.
"""


def add_to(command: AddCommand) -> None:
    """Add the command ``acls``."""
    acls = command("acls", "print or create the minimum rights of each worker and tool on the broker", _acls, _EPILOG)
    acls.add_argument("names", nargs="*", metavar="WORKER", help=f"{', '.join((*WORKERS, *TOOLS))} (default: all)")
    acls.add_argument(
        "--principal",
        default="User:{worker}",
        help="user; {worker} stands for the name of the worker or tool (default: User:{worker})",
    )
    shown = acls.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print a JSON array of objects")
    shown.add_argument("--apply", action="store_true", help="create the rights on the broker")


def _acls(arguments: argparse.Namespace) -> int:
    settings = configuration.read(KafkaSettings)
    names = tuple(dict.fromkeys(arguments.names)) or (*WORKERS, *TOOLS)
    if unknown := [name for name in names if name not in (*WORKERS, *TOOLS)]:
        complain(f"reflink-worker: {unknown[0]!r} is not one of {', '.join((*WORKERS, *TOOLS))}")
        return 2
    stages = {name: stage_class(name) for name in WORKERS}
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
        print(f"{len(given)} rights exist on {settings.kafka_bootstrap_servers}")
    elif arguments.json:
        print(json.dumps([{"principal": principal, **vars(grant)} for principal, grant in given], indent=1))
    else:
        for principal, grant in given:
            print(grant.arguments(principal))
    return 0
