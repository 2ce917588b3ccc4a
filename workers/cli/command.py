"""How a module of commands adds its own to ``reflink-worker``, and how a long one is ended."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Runs a command with its arguments; returns the exit code.
Run = Callable[[argparse.Namespace], int]
#: Adds a command: its name, what it does in one line, what runs it.
AddCommand = Callable[[str, str, Run], argparse.ArgumentParser]


def add_verbs(parser: argparse.ArgumentParser) -> AddCommand:
    """How a command with commands of its own adds them."""
    verbs = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def verb(name: str, text: str, run: Run) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    return verb


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends what runs within as an exception would, so that it cleans up; the exit code is the shell's, 143."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
