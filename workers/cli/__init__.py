"""The command ``reflink-worker``: it runs the workers, and the tools for their topics."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from reflink.errors import ReflinkError
from reflink.terminal import complain, guard
from workers.cli import (
    access,
    checking,
    dead_letters,
    exporting,
    filling,
    indexing,
    loading,
    overriding,
    pages,
    processes,
    replaying,
    snapshotting,
    withdrawing,
)
from workers.cli.command import add_commands, report
from workers.demo.command import add_arguments as add_demo
from workers.demo.command import run as run_demo

_EPILOG: Final = """\
Every setting is an environment variable REFLINK_… or a line of the TOML file that REFLINK_CONFIG names;
`reflink-worker settings` lists them. Workers log JSON lines to standard error and serve /metrics, /health/live
and /health/ready. Exit codes: 0 drained, 1 failed, 2 invalid settings or usage, 3 wrong topic, 4 slot taken, 5 fenced,
6 flood of dead letters, 7 stalled, 8 refused by the broker, 9 no broker responds, 10 the state folder cannot be read or
written, 11 no memory on the device, 12 a load was refused, 13 the search engine does not answer, 14 it refuses,
15 the GPU failed, 143 a tool ended by SIGTERM.

first steps:
  reflink-worker topics --partitions 6
  reflink-worker load works.jsonl.gz
  reflink-worker parser & reflink-worker linker & reflink-worker fallback & reflink-worker ledger &
  reflink-worker check
  reflink-worker publish papers/
"""


_COMMANDS: Final = (
    *(processes, indexing, filling, loading, withdrawing, snapshotting, exporting, checking),
    *(dead_letters, overriding, replaying, access, pages),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Expected errors are one line on stderr."""
    guard()
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except ReflinkError as error:
        return report(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        complain(f"reflink-worker: {where}{error.strerror or error}")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reflink-worker",
        description="Runs reflink on Kafka: papers in, links out.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command = add_commands(parser)
    for module in _COMMANDS:
        module.add_to(command)
    add_demo(command("demo", "run the whole pipeline on this machine, with its own Kafka broker", run_demo))
    return parser
