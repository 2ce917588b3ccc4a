"""The command that shows the whole pipeline on one machine: demo."""

from __future__ import annotations

import argparse

from workers.cli.command import AddCommand
from workers.local import demo


def add_to(command: AddCommand) -> None:
    """Adds demo."""
    demo.add_arguments(command("demo", "the whole pipeline on this machine, with a Kafka of its own", _demo))


def _demo(arguments: argparse.Namespace) -> int:
    return demo.run(arguments)
