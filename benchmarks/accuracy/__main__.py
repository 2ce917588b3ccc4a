"""Print the tables of docs/accuracy.md from measured figures, or write them into the page.

    reflink evaluate --full --pubmed DIR --catalog W --references R --json figures.json
    python -m benchmarks.labels --json labels.json
    python -m benchmarks.accuracy --figures figures.json [--labels labels.json] [--write PAGE | --check PAGE]

Without --write and --check the tables are printed. A table of the page is replaced by the one with the same columns; the page
has no other table with these columns. --check changes nothing and lists the tables that differ or that the page lacks. The exit
code is 1 if a table differs or is missing, else 0.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import harness
from benchmarks.accuracy.tables import Table, line, of_evaluation, of_labels


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__, figures=False)
    parser.add_argument("--figures", type=Path, metavar="FILE", help="of reflink evaluate --json")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="of python -m benchmarks.labels --json")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--write", type=Path, metavar="PAGE", help="replace the tables of this page")
    where.add_argument("--check", type=Path, metavar="PAGE", help="compare the tables of this page")
    args = parser.parse_args(argv)
    tables = list(of_evaluation(json.loads(args.figures.read_bytes()))) if args.figures else []
    if args.labels:
        tables.append(of_labels(json.loads(args.labels.read_bytes())))
    page: Path | None = args.write or args.check
    if page is None:
        sys.stdout.write("\n\n".join("\n".join(table.markdown()) for table in tables) + "\n")
        return 0
    text = page.read_text(encoding="utf-8")
    stale = []
    for table in tables:
        new = replaced(text, table)
        if new is None or (args.check and new != text):
            stale.append(f"{'missing' if new is None else 'differs'}: {line(table.head)}")
        elif args.write:
            text = new
    if args.write:
        page.write_text(text, encoding="utf-8")
    sys.stdout.write("".join(f"{each}\n" for each in stale))
    return 1 if stale else 0


def replaced(text: str, table: Table) -> str | None:
    """Return the page with the table in place of the one with the same columns; None if it has none."""
    lines = text.split("\n")
    new = table.markdown()
    if new[0] not in lines:
        return None
    first = last = lines.index(new[0])
    while last < len(lines) and lines[last].startswith("|"):
        last += 1
    return "\n".join([*lines[:first], *new, *lines[last:]])


if __name__ == "__main__":
    sys.exit(main())
