"""Measure the ledger at the size of a field.

    python -m benchmarks.ledger store    [--references 5000000]   its store: writing, disk, memory, finding, opening
    python -m benchmarks.ledger restart  [--references 1000000]   restarts from the topics alone, and with its store
    python -m benchmarks.ledger outcomes [--references 100000]    outcomes per second through one ledger
    python -m benchmarks.ledger wake     [--references 5000000]   from a work's arrival to the links of waiting references

The waiting references are recombined from real ones (benchmarks/ledger/recombined.py); ``wake`` also restarts the ledger as
``restart`` does. All but ``store`` run on their own Kafka with real worker processes, all on one machine.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.ledger import filling, outcomes, restarting, waking
from benchmarks.machine import describe


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures and return exit code 0."""
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # stops the broker and the workers
    print(describe(), flush=True)
    figures = arguments.run(arguments)
    harness.save(arguments.json, {"command": arguments.command, **figures})
    return 0


def _store(arguments: argparse.Namespace) -> dict[str, Any]:
    figures = filling.run(arguments.references, arguments.sizes, arguments.folder)
    print(filling.forecast_text(figures))
    return figures


def _restart(arguments: argparse.Namespace) -> dict[str, Any]:
    figures = restarting.run(arguments.references, arguments.rounds, arguments.folder)
    print(restarting.text(figures))
    return figures


def _outcomes(arguments: argparse.Namespace) -> dict[str, Any]:
    figures = outcomes.run(arguments.references, arguments.rounds, arguments.folder)
    print(outcomes.text(figures))
    return figures


def _wake(arguments: argparse.Namespace) -> dict[str, Any]:
    figures = waking.run(
        references=arguments.references,
        per_s=arguments.per_s,
        seconds=arguments.seconds,
        share=arguments.share,
        snapshot=arguments.snapshot,
        before=arguments.before,
        rounds=arguments.rounds,
        folder=arguments.folder,
    )
    print(waking.text(figures))
    return figures


def _parser() -> argparse.ArgumentParser:
    parser = harness.parser(__doc__, figures=False)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, help_: str, run: Callable[[argparse.Namespace], Any], references: int) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_, description=help_)
        added.add_argument("--references", type=int, default=references, help=f"how many (default {references:,})")
        added.add_argument("--folder", type=Path, help="where to keep what is deleted at the end: GB of disk")
        harness.add_json(added)
        added.set_defaults(run=run)
        return added

    store = command("store", "waiting references against disk, memory and time to find them", _store, 5_000_000)
    store.add_argument(
        "--sizes",
        type=harness.numbers,
        default=[500_000, 1_000_000, 2_000_000],
        help="also measured (500000,1000000,2000000)",
    )
    restart = command("restart", "starting from the topics alone, and with the store on disk", _restart, 1_000_000)
    restart.add_argument("--rounds", type=int, default=3, help="of restarts with the store")
    through = command("outcomes", "outcomes a second through one ledger", _outcomes, 100_000)
    through.add_argument("--rounds", type=int, default=3)
    wake = command("wake", "from a work's arrival to the links of the references that waited", _wake, 5_000_000)
    wake.add_argument("--per-s", type=float, default=100.0, help="works that arrive in a second (100)")
    wake.add_argument("--seconds", type=float, default=180.0, help="for so long (180), after 10 s that do not count")
    wake.add_argument("--share", type=float, default=0.2, help="of the works, those that a reference waits for (0.2)")
    wake.add_argument("--rounds", type=int, default=1, help="of restarts with the store")
    wake.add_argument(
        "--snapshot", type=Path, default=Path(".cache/catalogs/full"), metavar="DIR", help="a catalog of all shared works"
    )
    wake.add_argument("--before", type=int, metavar="WORKS", help="so many of its works are there before (default: all others)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
