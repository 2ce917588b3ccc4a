"""The files of an OpenAlex snapshot: partitions of works by ``updated_date``, manifests, merged and deleted works.

Since 2026 the works are in ``data/jsonl/works`` and ``data/parquet/works``, each with a ``manifest.json``, and deleted works in
``deleted_ids.csv.gz``. Before, they were in ``data/works`` with a ``manifest``, and merged works in ``data/merged_ids/works``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

from reflink.errors import BadDump, BadRecord, DamagedFile
from reflink.sources.files import found, lines, opened
from reflink.sources.json_source import JsonSource, is_json
from reflink.sources.openalex.manifest import check, listed
from reflink.sources.openalex.works import gone, record
from reflink.sources.source import SourceFile, SourceRecord
from reflink.sources.values import milliseconds

_PART: Final = re.compile(r"part[_-]\d+(?:\.jsonl)?(?:\.gz|\.parquet)?")
_PARTITION: Final = re.compile(r"updated_date=(\d{4}-\d\d-\d\d)")
_TABLE: Final = re.compile(r"(?:deleted_ids|\d{4}-\d\d-\d\d)\.csv(?:\.gz)?")
_MANIFESTS: Final = ("manifest", "manifest.json")
_MAX_ROW: Final = 1 << 16
_PARQUET: Final = ".parquet"
#: Columns of Parquet that a work is made from.
_COLUMNS: Final = (
    "id", "doi", "ids", "title", "display_name", "authorships", "primary_location", "biblio", "type", "type_crossref",
    "is_paratext", "is_retracted", "language", "publication_year", "updated_date",
)  # fmt: skip
_ROWS: Final = 1000


class OpenAlex(JsonSource):
    """OpenAlex's works. Key: ``W…``. Version: ``updated_date``, in milliseconds."""

    name: ClassVar[str] = "openalex"
    about: ClassVar[str] = (
        "OpenAlex: the snapshot (JSON lines or Parquet), merged_ids, deleted_ids, pages of the REST interface"
    )

    def files(self, paths: Sequence[Path]) -> list[SourceFile]:
        """Return the files of works, and of merged and deleted works. Files that the manifest does not list are left out.

        Raises BadDump if a path is missing, if there is no file of works, or if a file of a manifest is missing or has another
        size than the manifest states.
        """
        files = [each for each in found(paths, self._is_wanted, self.name) if _is_works(each.path)]
        manifests = dict.fromkeys(each.path for each in files if each.path.name in _MANIFESTS)
        for file in files:  # the manifest is above the folder that the user named
            manifests.update((each, None) for each in _above(file.path) if each.is_file())
        stated = listed(manifests)
        files = [_dated(each) for each in files if each.path.name not in _MANIFESTS]
        if any(
            _PARTITION.search(each.as_posix()) for each in (*stated, *(file.path for file in files)) if not _is_parquet(each)
        ):
            files = [each for each in files if not _is_parquet(each.path)]  # a copy of the same works
            stated = {path: each for path, each in stated.items() if not _is_parquet(path)}
        files = check(files, stated, paths)
        if not files:
            raise BadDump(f"{', '.join(map(str, paths))}: no file of works of OpenAlex")
        return sorted(files, key=lambda each: each.version)

    def is_file(self, name: str) -> bool:
        """Whether a file of this name holds records."""
        return is_json(name) or _PART.fullmatch(name) is not None

    def _is_wanted(self, name: str) -> bool:
        return self.is_file(name) or name in _MANIFESTS or _TABLE.fullmatch(name) is not None

    def read(self, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
        """Yield the records of a file in order; see `reflink.sources.source.Source.read`."""
        if _is_parquet(file.path):
            return _parquet(file)
        return _table(file) if ".csv" in file.path.suffixes else super().read(file)

    def records(self, value: dict[str, Any], version: int) -> Iterable[SourceRecord]:
        """Return the state of a work. Raises BadRecord without an id."""
        return (record(value, version),)


def _is_parquet(path: Path) -> bool:
    return path.name.endswith(_PARQUET)


def _is_works(path: Path) -> bool:
    """Whether a file of a snapshot is about works, not about authors, sources or other entities."""
    parts = path.resolve().parts
    if path.name in _MANIFESTS:
        return parts[-2] in ("works", "jsonl", "parquet")
    at = next((at for at, part in enumerate(parts) if _PARTITION.fullmatch(part)), len(parts) - 1)
    return parts[at - 1] == "works" or (at == len(parts) - 1 and not _TABLE.fullmatch(path.name))


def _above(path: Path) -> list[Path]:
    """Return where the manifests of a file of works would be."""
    works = next((each for each in path.resolve().parents if each.name == "works"), None)
    return [] if works is None else [works / "manifest", works / "manifest.json", works.parent / "manifest.json"]


def _dated(file: SourceFile) -> SourceFile:
    """Return the file with the version of its partition, or of its table of merged works."""
    found = _PARTITION.search(file.path.as_posix()) or re.match(r"(\d{4}-\d\d-\d\d)", file.path.name)
    version = milliseconds(found[1]) if found else None
    return file if version is None else replace(file, version=version)


def _table(file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
    """Yield the works of a table ``merge_date,id,merge_into_id`` or ``work_id,deleted_date``."""
    with opened(file.path) as content:
        names: list[str] = []
        for line in lines(content, file.name, _MAX_ROW):
            if isinstance(line, BadRecord):
                yield line
                continue
            number, data = line
            row = [cell.strip('" \r\n') for cell in data.decode("utf-8-sig", errors="replace").split(",")]
            if not names:
                names = row
                continue
            value = dict(zip(names, row, strict=False))
            try:
                yield gone(value.get("id") or value.get("work_id"), value.get("merge_date") or value.get("deleted_date"),
                           value.get("merge_into_id"))  # fmt: skip
            except BadRecord as error:
                yield BadRecord(f"{file.name}:{number}: {error}")


def _parquet(file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
    """Yield the works of a Parquet file. Raises BadDump without pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise BadDump("reading Parquet needs pyarrow: pip install 'reflink-stream[export]'") from None
    try:
        table = pyarrow.parquet.ParquetFile(file.path)
        columns = [name for name in _COLUMNS if name in table.schema_arrow.names]
        number = 0
        for batch in table.iter_batches(batch_size=_ROWS, columns=columns):
            for value in batch.to_pylist():
                number += 1
                try:
                    yield record(value, file.version)
                except BadRecord as error:
                    yield BadRecord(f"{file.name}:row {number}: {error}")
    except (pyarrow.ArrowException, OSError) as error:
        raise DamagedFile(f"{file.path}: truncated or damaged: {error}: get the file again") from None
