"""A source in files of JSON lines, for tests: one line a record, ``{"key", "doi", "title", …}`` or ``{"key", "withdrawn"}``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reflink.entities import Ids, Work
from reflink.errors import BadDump, BadRecord, DamagedFile
from reflink.sources.files import lines, opened
from reflink.sources.source import Source, SourceFile, SourceRecord
from reflink.workids import work_id


class Lines(Source):
    """Files ``*.jsonl`` of a folder. The number in a file's name is its version, ``2025-`` before it its edition."""

    name = "lines"
    about = "JSON lines of tests"

    def files(self, paths: Sequence[Path]) -> list[SourceFile]:
        found = sorted(file for path in paths for file in (path.rglob("*.jsonl") if path.is_dir() else [path]))
        if not found:
            raise BadDump(f"{paths[0]}: no file of this source")
        return [SourceFile(path, path.name, _version(path), _edition(path)) for path in found]

    def read(self, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
        with opened(file.path) as content:
            for line in lines(content, str(file.path)):
                if isinstance(line, BadRecord):
                    yield line
                    continue
                number, data = line
                if data.strip() == b"damaged":
                    raise DamagedFile(f"{file.path}: damaged")
                try:
                    yield record(json.loads(data), file.version, self.name)
                except ValueError as error:
                    yield BadRecord(f"{file.path}:{number}: {error}")


class Others(Lines):
    """The same files as another source."""

    name = "others"


def record(data: dict[str, Any], version: int, source: str) -> SourceRecord:
    """Return the record of a line."""
    key = data["key"]
    if data.get("withdrawn"):
        return SourceRecord(key, data.get("version", version), None)
    ids = Ids(doi=data.get("doi"), pmid=data.get("pmid"), pmcid=data.get("pmcid"))
    work = Work(
        id=work_id(ids, f"{source}:{key}"),
        ids=ids,
        title=data.get("title"),
        authors=tuple(data.get("authors", ())),
        year=data.get("year"),
    )
    return SourceRecord(key, data.get("version", version), work, partial=data.get("partial", False))


def write(path: Path, *records: dict[str, Any] | str) -> Path:
    """Write a file of the source."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records))
    return path


def _version(path: Path) -> int:
    return int("0" + "".join(filter(str.isdigit, path.stem.rpartition("-")[2])))


def _edition(path: Path) -> int | None:
    year, dash, _ = path.stem.partition("-")
    return int(year) if dash else None
