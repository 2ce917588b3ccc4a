"""What commands print: JSON lines or tables on stdout, one-line complaints and progress on stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from reflink.entities import Entity, Ids, Reference, Work


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option of every command that answers with records."""
    parser.add_argument("--json", action="store_true", help="a line of JSON for each record instead of a table")


def console() -> Console:
    """Tables on stdout; as wide as needed where nobody looks at them."""
    return Console() if sys.stdout.isatty() else Console(width=160)


def write_json(record: Entity | Mapping[str, Any]) -> None:
    """One record on one line."""
    line = record.to_json() if isinstance(record, Entity) else orjson.dumps(record, default=_plain)
    sys.stdout.buffer.write(line + b"\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Entity):
        return value.to_dict()
    raise TypeError(f"{type(value).__name__} is not JSON")


def complain(message: object) -> None:
    """One line on stderr."""
    print(f"reflink: {message}", file=sys.stderr)


def table(columns: Sequence[tuple[str, int | None]]) -> Table:
    """An empty table of columns (name, share of the width); those without a share are as wide as their content."""
    # Without borders, so that a column can be cut out with common tools.
    made = Table(expand=any(share for _, share in columns), box=None, pad_edge=False)
    for name, share in columns:
        made.add_column(name, ratio=share, overflow="ellipsis", no_wrap=True)
    return made


def describe(record: Reference | Work) -> str:
    """A record on one line: who, when, what, where."""
    names = list(record.last_names)
    who = " & ".join(names) if len(names) < 3 else f"{names[0]} et al."
    when = "" if record.year is None else f"({record.year})"
    said = " ".join(part for part in (who, when, record.title, record.venue and f"— {record.venue}") if part)
    return said or (record.raw_text if isinstance(record, Reference) else "") or "(nothing known)"


def identifiers(ids: Ids) -> str:
    """``kind:value`` of each."""
    return " ".join(ids.keys())
