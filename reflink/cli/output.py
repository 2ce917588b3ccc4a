"""Output of the commands: JSON lines or tables on stdout, one-line error messages and progress on stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from rich.table import Table

from reflink import terminal
from reflink.entities import Entity, Ids, Reference, Work
from reflink.terminal import Terminal, printable


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--json`` of a command that prints records."""
    parser.add_argument("--json", action="store_true", help="a line of JSON for each record instead of a table")


def console() -> Terminal:
    """Return the terminal for tables on stdout; 160 columns wide if stdout is not a terminal."""
    return Terminal() if sys.stdout.isatty() else Terminal(width=160)


def write_json(record: Entity | Mapping[str, Any]) -> None:
    """Write one record as a line of JSON to stdout."""
    line = record.to_json() if isinstance(record, Entity) else orjson.dumps(record, default=_plain)
    sys.stdout.buffer.write(printable(line.decode()).encode() + b"\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Entity):
        return value.to_dict()
    raise TypeError(f"{type(value).__name__} is not JSON")


def complain(message: object) -> None:
    """Print a message as one line on stderr."""
    terminal.complain(f"reflink: {message}")


def table(columns: Sequence[tuple[str, int | None]]) -> Table:
    """Return an empty table with columns (name, share of the width); a column without a share is as wide as its content."""
    # No borders, so that common tools can extract a column.
    made = Table(expand=any(share for _, share in columns), box=None, pad_edge=False)
    for name, share in columns:
        made.add_column(name, ratio=share, overflow="ellipsis", no_wrap=True)
    return made


def describe(record: Reference | Work) -> str:
    """Return a record on one line: authors, year, title and venue, else the raw text of a reference."""
    names = list(record.last_names)
    who = " & ".join(names) if len(names) < 3 else f"{names[0]} et al."
    when = "" if record.year is None else f"({record.year})"
    text = " ".join(part for part in (who, when, record.title, record.venue and f"— {record.venue}") if part)
    return text or (record.raw_text if isinstance(record, Reference) else "") or "(nothing known)"


def identifiers(ids: Ids) -> str:
    """Return the identifiers as ``kind:value``, separated by spaces."""
    return " ".join(ids.keys())
