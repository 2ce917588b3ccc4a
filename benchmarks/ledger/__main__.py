"""Measure the ledger at the size of a field.

    python -m benchmarks.ledger store [--references 5000000]   its store: writing, disk, memory
    python -m benchmarks.ledger wake  [--references 5000000]   from a work's arrival to the links of waiting references
    python -m benchmarks.ledger shares [--works 20000000]      what one of n ledgers holds, and whether n find what one finds

The waiting references are recombined from real ones (benchmarks/ledger/recombined.py). ``wake`` runs its own Kafka with real
worker processes, all on one machine, and first restarts the ledger from the topics alone and with its store.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.ledger import filling, shares, waking
from benchmarks.machine import describe
from workers.ledger.catalog_following import WINDOW


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures and return exit code 0."""
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # stops the broker and the workers
    print(describe(), flush=True)
    figures = arguments.run(arguments)
    harness.save(arguments.json, {"command": arguments.command, **figures})
    return 0


def _store(arguments: argparse.Namespace) -> dict[str, Any]:
    return filling.run(arguments.references, arguments.sizes, arguments.folder)


def _wake(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("references", "per_s", "seconds", "share", "snapshot", "rounds", "folder")
    figures = waking.run(**{name: getattr(arguments, name) for name in names})
    print(waking.text(figures))
    return figures


def _shares(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("works", "references", "ledgers", "compared", "window", "real", "folder")
    return shares.run(**{name: getattr(arguments, name) for name in names})


def _parser() -> argparse.ArgumentParser:
    parser = harness.parser(__doc__, figures=False)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, help_: str, run: Callable[[argparse.Namespace], Any]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_, description=help_)
        added.add_argument("--references", type=int, default=5_000_000, help="number of waiting references (5,000,000)")
        added.add_argument("--folder", type=Path, help="for temporary data: GB of disk")
        harness.add_json(added)
        added.set_defaults(run=run)
        return added

    store = command("store", "disk and memory of the stores by number of waiting references", _store)
    sizes = [500_000, 1_000_000, 2_000_000]
    store.add_argument("--sizes", type=harness.numbers, default=sizes, help="also measured (500000,1000000,2000000)")
    share = command("shares", "what one of n ledgers holds, by n", _shares)
    share.add_argument("--works", type=int, default=20_000_000, help="works in the topic catalog (20,000,000)")
    share.add_argument("--ledgers", type=harness.numbers, default=[1, 2, 4], help="numbers of ledgers (1,2,4)")
    share.add_argument("--compared", type=int, default=200_000, help="references of which all shares are compared (200,000)")
    share.add_argument("--real", type=int, default=70_000, help="real references that are recombined (70,000: all)")
    share.add_argument("--window", type=int, default=WINDOW, help=f"offsets in the log of changes ({WINDOW:,})")
    wake = command("wake", "time from a work's arrival to the links of the waiting references", _wake)
    wake.add_argument("--per-s", type=float, default=100.0, help="works that arrive per second (100)")
    wake.add_argument("--seconds", type=float, default=180.0, help="duration (180), after 10 s that do not count")
    wake.add_argument("--share", type=float, default=0.2, help="share of the works that a reference waits for (0.2)")
    wake.add_argument("--rounds", type=int, default=1, help="number of restarts with the store (1)")
    wake.add_argument(
        "--snapshot", type=Path, default=Path(".cache/catalogs/full"), metavar="DIR", help="a catalog of all shared works"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
