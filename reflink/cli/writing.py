"""Write papers again with the links added to their references: ``reflink link --format``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from reflink.cli.inputs import Input
from reflink.cli.output import complain
from reflink.entities import Link
from reflink.errors import BadRecord, ReflinkError
from reflink.formats import Decision, format_named
from reflink.formats.registry import WRITABLE
from reflink.storage import durable

if TYPE_CHECKING:
    from reflink.catalog import Catalog


def add_writing(parser: argparse.ArgumentParser) -> None:
    """Add the options ``--format`` and ``--out``."""
    parser.add_argument(
        "--format",
        choices=WRITABLE,
        help="write each paper again, with the links in its references, instead of a table; the papers must have this format",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the files of --format (default: one paper to stdout)"
    )


class Writer:
    """Writes papers of one format, to a folder or, one paper, to stdout. Raises OSError if the folder cannot be made."""

    def __init__(self, format_name: str, folder: Path | None) -> None:
        self._format, self._folder = format_named(format_name), folder
        self._names = set[str]()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def write(self, given: Input, links: Sequence[Link], catalog: Catalog) -> bool:
        """Write one file with its links. Return False, after a message, if it cannot be written.

        Raises BadRecord for a second file on stdout, and for an input that would be replaced; OSError.
        """
        decisions = {link.reference: Decision(link, catalog.get(link.cited) if link.cited else None) for link in links}
        try:
            data = self._format.with_links(given.content, decisions)
        except ReflinkError as error:
            complain(error)
            return False
        file = Path(given.name)
        inside = given.name if file.exists() else given.name.rpartition(":")[2]  # of an archive
        name = PurePath(inside).name.removesuffix(".gz")
        if name in self._names or (self._names and self._folder is None):
            if self._folder is None:
                raise BadRecord("--format writes one paper to stdout: use --out for several")
            complain(f"{given.name}: another input has the same name: not written")
            return False
        self._names.add(name)
        if self._folder is None:
            sys.stdout.buffer.write(data)
        else:
            path = self._folder / name
            if path.exists() and file.exists() and path.samefile(file):
                raise BadRecord(f"--out {self._folder}: {given.name} would be replaced: choose another folder")
            with durable.replacing(path, path.with_name(f".{name}.partial")) as written:
                written.write(data)
        return True
