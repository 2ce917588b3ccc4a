"""Read the links of a file or of an export's folder, and how often the text of a paper mentions each reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import orjson

from reflink.catalog.reading import DAMAGED, unpacked
from reflink.errors import BadRecord, ExportFailed
from reflink.graph.formats import JsonLines
from reflink.graph.mentions import Mentions
from reflink.graph.newest import Newest
from reflink.graph.rows import Row, read

_TABLE: Final = "table"


def newest_links(path: Path) -> Iterator[Row]:
    """Yield the newest row of each reference of each paper, in the order of papers and references: a paper's are adjacent.

    ``path``: links as JSON lines, plain or gzip, of ``reflink link --json``, ``reflink export`` or ``reflink-worker export``,
    or an export's folder. Of several lines about a reference the last counts. Raises BadRecord with file and line, OSError, and
    ExportFailed if the temporary folder cannot hold the links.
    """
    with TemporaryDirectory() as folder:
        try:
            yield from _newest(path, Path(folder) / _TABLE)
        except ExportFailed as error:
            raise ExportFailed(f"{path}: cannot be sorted in {folder}: is the disk full? It must hold the links") from error


def _newest(path: Path, folder: Path) -> Iterator[Row]:
    with Newest(folder) as table:
        for number, line in _lines(_within(path, JsonLines.FILE, "jsonl")):
            try:
                row = read(line, bare=True)
            except BadRecord as error:
                raise BadRecord(f"{path}, line {number}: {error}") from None
            table.put(f"{row.citing}\0{row.reference}".encode(), line, (1, number))
        for _, _, value in table.rows():
            yield read(value, bare=True)


def mentions(path: Path) -> dict[str, int]:
    """Return the number of citation contexts of each reference that has any.

    ``path``: lines of ``reflink contexts --json`` or of an export's format ``contexts``, or an export's folder. Raises
    BadRecord with file and line, OSError.
    """
    found: dict[str, int] = {}
    for number, line in _lines(_within(path, Mentions.FILE, "contexts")):
        try:
            data = orjson.loads(line)
            if data["contexts"]:
                found[str(data["reference"])] = len(data["contexts"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise BadRecord(f"{path}, line {number}: no line of reflink contexts --json or of an export's contexts") from None
    return found


def _within(path: Path, name: str, format_name: str) -> Path:
    if not path.is_dir():
        return path
    if not (path / name).exists():
        raise BadRecord(f"{path}: {name} is missing: export with --format {format_name}")
    return path / name


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    with path.open("rb") as stored:
        try:
            for number, line in enumerate(unpacked(stored), 1):
                if value := line.strip():
                    yield number, value
        except DAMAGED as error:
            raise BadRecord(f"{path}: cannot be decompressed after line {number}: {error}") from None
