"""Types and helpers with which a module adds its commands to ``reflink-worker``, and ends them on SIGTERM."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from reflink.errors import ReflinkError
from reflink.terminal import complain
from workers.config import settings as configuration
from workers.config.settings import S
from workers.errors import WorkerError
from workers.signals import handling

#: Runs a command with its parsed arguments and returns the exit code.
Run = Callable[[argparse.Namespace], int]
#: Adds a command: its name, its description in one line, the function that runs it, the text after its options (optional).
AddCommand = Callable[..., argparse.ArgumentParser]
T = TypeVar("T")


def add_commands(parser: argparse.ArgumentParser) -> AddCommand:
    """Return a function that adds commands to ``parser``, one of which is required."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, text: str, run: Run, epilog: str = "") -> argparse.ArgumentParser:
        formatter = argparse.RawDescriptionHelpFormatter
        added = commands.add_parser(name, help=text, description=text, epilog=epilog, formatter_class=formatter)
        added.set_defaults(run=run)
        return added

    return command


def argument(read: Callable[[str], T]) -> Callable[[str], T]:
    """Return a type of an argument: ``read``, whose ReflinkError is a usage error."""

    def checked(text: str) -> T:
        try:
            return read(text)
        except ReflinkError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def add_output(parser: argparse.ArgumentParser, json: str, *, prefix: bool = True) -> None:
    """Add ``--json`` with this help text and ``--quiet``, and ``--prefix`` for ``settings_of``."""
    if prefix:
        parser.add_argument("--prefix", help="prefix of the topics (default: REFLINK_TOPIC_PREFIX)")
    parser.add_argument("--json", action="store_true", help=json)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def settings_of(arguments: argparse.Namespace, model: type[S]) -> S:
    """Return the settings, with the topic prefix of ``--prefix`` if it is given. Raises BadSettings."""
    return configuration.read(model, **({} if arguments.prefix is None else {"topic_prefix": arguments.prefix}))


def report(error: Exception) -> int:
    """Print an error in one line and return its exit code."""
    complain(f"reflink-worker: {type(error).__name__}: {error}")
    return error.exit_code if isinstance(error, WorkerError) else 1


def tool_logs(name: str, *, quiet: bool) -> None:
    """Send the logs of a tool to standard error: warnings only, if ``quiet`` or on a terminal, where progress is displayed."""
    from workers.telemetry import logs

    logs.set_up("WARNING" if quiet or sys.stderr.isatty() else "INFO", worker=name)
    # kafka-python warns when a large batch blocks its event loop for 0.1 s, which is normal for a bulk read.
    logging.getLogger("kafka.net.selector").setLevel(logging.ERROR)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Turn SIGTERM into SystemExit, so that the code within cleans up. The exit code is 143, as a shell reports it."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    with handling(end, signal.SIGTERM):
        yield
