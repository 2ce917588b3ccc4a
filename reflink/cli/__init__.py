"""The command ``reflink``: the library on the command line, without Kafka."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol, cast

from reflink.errors import ReflinkError
from reflink.terminal import complain, guard
from reflink.tiered import run_plain_first

#: The modules of the commands in the order of ``--help``.
COMMANDS: Final = ("parse", "link", "contexts", "export", "catalog", "journals", "explain", "evaluate")

OK: Final = 0
SOME_FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 128 + signal.SIGINT


class Command(Protocol):
    """The interface of a command's module. ``run`` returns the exit code; a ReflinkError or OSError from it becomes code 2."""

    NAME: str
    HELP: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="reflink",
        description="Find the work that each reference of a paper cites: read papers and link their references to a catalog.",
        epilog="""first steps:
  reflink catalog build works.jsonl.gz --out catalog/   a catalog from JSON lines
  reflink link paper.xml --catalog catalog/             link a paper's references to it
  reflink explain paper.xml --reference 7 --catalog catalog/   why a reference was linked, or not

exit codes: 0 success; 1 some inputs failed (stderr names each); 2 wrong usage, or the catalog or model cannot be opened""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        add_command(commands, import_module(f"reflink.cli.{name}"))
    return top


def add_command(commands: Any, module: ModuleType) -> None:
    """Add the command of a module, a `Command`, to the subparsers of another parser."""
    command = cast(Command, module)
    description, _, example = command.HELP.partition("\n")
    sub = commands.add_parser(
        command.NAME,
        help=description,
        description=description,
        epilog=example.strip("\n"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.set_defaults(run=command.run)
    command.add_arguments(sub)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Expected errors are one line on stderr, never a traceback."""
    guard()
    if argv is None:  # this process is the command, not a caller of it
        run_plain_first()
    try:
        arguments = parser().parse_args(argv)
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse: 0 after --help, 2 after wrong usage
        return stop.code if isinstance(stop.code, int) else USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe, as "| head" does. This is not an error, but the final flush must not fail: replace stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except ReflinkError as error:
        complain(f"reflink: {error}")
        return USAGE
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error
        complain(f"reflink: {what}")
        return USAGE
