"""``reflink``: the library at the command line, without Kafka."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final, Protocol, cast

from reflink.errors import ReflinkError

#: The modules of the commands, in the order of ``--help``.
COMMANDS: Final = ("parse", "link", "export", "catalog", "explain", "evaluate")

OK: Final = 0
SOME_FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 128 + signal.SIGINT


class Command(Protocol):
    """What a command's module has. ``run`` returns the exit code; a ReflinkError or OSError that it raises becomes code 2."""

    NAME: str
    HELP: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def parser() -> argparse.ArgumentParser:
    """The command line, with its help."""
    top = argparse.ArgumentParser(
        prog="reflink",
        description="Which paper does every entry of a bibliography cite? Reads JATS XML, links its references to a catalog.",
        epilog="""first steps:
  reflink catalog build works.jsonl.gz --out catalog/   a catalog from JSON lines
  reflink link paper.xml --catalog catalog/             link a paper's references to it
  reflink explain paper.xml --reference 7 --catalog catalog/   why one of them was linked, or not

exit codes: 0 done, 1 some inputs failed (each is named on stderr), 2 wrong usage, or no catalog or model to work with""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        command = cast(Command, import_module(f"reflink.cli.{name}"))
        description, _, example = command.HELP.partition("\n")
        sub = commands.add_parser(
            command.NAME,
            help=description,
            description=description,
            epilog=example.strip("\n"),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Expected errors are one line on stderr, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows few letters must not end the run
            stream.reconfigure(errors="backslashreplace")
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
        # The reader has gone, as in "| head": nothing is wrong, and the interpreter must not flush into the pipe at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except ReflinkError as error:
        print(f"reflink: {error}", file=sys.stderr)
        return USAGE
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error
        print(f"reflink: {what}", file=sys.stderr)
        return USAGE
