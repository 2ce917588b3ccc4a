"""The command ``reflink export``: write links from a file as Parquet, CSV with OpenCitations' columns, and JSON lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from reflink.catalog.reading import DAMAGED, unpacked
from reflink.cli import OK, SOME_FAILED
from reflink.cli.output import complain, write_json
from reflink.errors import BadRecord
from reflink.graph import FORMATS

NAME: Final = "export"
HELP: Final = """Write links from a file as Parquet, CSV and JSON lines.

Of lines about the same reference the last one counts. CSV has OpenCitations' columns, a line for each pair of works.

examples:
  reflink export links.jsonl --out graph/                  links.parquet, citations.csv, links.jsonl, manifest.json
  reflink link articles/ --catalog catalog/ --json | reflink export - --out graph/ --format csv
  reflink export exported/links.jsonl --out graph/ --format parquet     of `reflink-worker export`"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: input file, output folder and formats."""
    parser.add_argument("links", metavar="LINKS", help="output of reflink link --json, plain or gzip; - reads stdin")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder that is absent or empty")
    parser.add_argument("--format", nargs="+", choices=FORMATS, default=FORMATS, help=f"default: {' '.join(FORMATS)}")
    parser.add_argument("--json", action="store_true", help="the manifest as a line of JSON")


def run(args: argparse.Namespace) -> int:
    """Write the folder. Returns 1 if lines could not be read."""
    from reflink.graph.export import GraphExport
    from reflink.graph.rows import read

    lines = 0
    with GraphExport(args.out, args.format, places=("file", "line"), bare=True) as graph, opened(args.links) as file:
        try:
            for lines, line in enumerate(file, start=1):
                if value := line.strip():
                    try:
                        graph.table.put(read(value, bare=True).reference.encode(), value, (1, lines))
                    except BadRecord as error:
                        graph.refuse((1, lines), None, error)
        except DAMAGED as error:
            raise BadRecord(f"{args.links}: cannot be decompressed after line {lines}: {error}") from None
        manifest = graph.finish({"file": args.links, "lines": lines})
    if args.json:
        write_json({"folder": str(args.out), **manifest})
    else:
        files = ", ".join(f"{name} {file['rows']}" for name, file in manifest["files"].items())
        complain(f"{manifest['references']} references, {manifest['linked']} linked; rows: {files}")
    if manifest["unreadable"]:
        complain(f"{manifest['unreadable']} lines cannot be read: {args.out}/unreadable.jsonl")
    return SOME_FAILED if manifest["unreadable"] else OK


@contextmanager
def opened(name: str) -> Iterator[IO[bytes]]:
    """Open a file of lines, plain or gzip; ``-`` is standard input. Raises OSError."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with Path(name).open("rb") as stored:
        yield unpacked(stored)
