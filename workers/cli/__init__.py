"""``reflink-worker``: the processes, and the tools around their topics."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from reflink.errors import ReflinkError
from workers.cli import (
    access,
    checking,
    dead_letters,
    demonstration,
    exporting,
    filling,
    overriding,
    pages,
    processes,
    replaying,
    snapshotting,
)
from workers.cli.command import Run
from workers.errors import WorkerError

_EPILOG: Final = """\
Every setting is an environment variable REFLINK_… or a line of the TOML file that REFLINK_CONFIG names;
`reflink-worker settings` lists them. Workers log JSON lines to standard error and serve /metrics, /health/live
and /health/ready. Exit codes: 0 drained, 1 failed, 2 bad settings or usage, 3 wrong topic, 4 slot taken, 5 fenced,
6 flood of dead letters, 7 stalled, 8 refused by the broker, 9 no broker answers, 10 the ledger's disk refuses,
11 no memory on the device, 143 a tool ended by SIGTERM.

first steps:
  reflink-worker topics --partitions 6
  reflink-worker load works.jsonl.gz
  reflink-worker parser & reflink-worker linker & reflink-worker fallback & reflink-worker ledger &
  reflink-worker check
  reflink-worker publish papers/
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The command. Returns its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except WorkerError as error:
        print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
        return error.exit_code
    except ReflinkError as error:
        print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"reflink-worker: {where}{error.strerror or error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reflink-worker",
        description="Runs reflink on Kafka: papers in, links out.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, text: str, run: Run) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    modules = (processes, filling, snapshotting, exporting, checking, dead_letters, overriding, replaying, access, pages)
    for module in (*modules, demonstration):
        module.add_to(command)
    return parser
