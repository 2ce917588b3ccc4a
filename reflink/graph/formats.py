"""The formats of an export. Each writes one file row by row; memory does not grow with the number of rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final, Protocol

import orjson

from reflink.errors import ExportFailed
from reflink.graph.rows import Row
from reflink.storage import durable

#: Rows per conversion to Arrow, and rows per row group.
_TOGETHER: Final = 8192
_GROUP: Final = 16 * _TOGETHER


class Format(Protocol):
    """A file that is being written. ``written``: number of rows so far."""

    FILE: ClassVar[str]
    written: int

    def write(self, value: bytes, row: Row) -> None:
        """Write one reference, given as the value read and as a row. Rows must come in order of their references."""

    def close(self) -> None:
        """Flush the file to disk and close it. Raises OSError."""


class JsonLines:
    """One line per reference: the value of its key in the topic, byte for byte."""

    FILE: ClassVar = "links.jsonl"

    def __init__(self, folder: Path) -> None:
        self.written = 0
        self._file = (folder / self.FILE).open("wb", buffering=2**20)

    def write(self, value: bytes, row: Row) -> None:
        """Write one reference. A value of several lines, which no worker writes, is serialised again as one line."""
        if b"\n" in value or b"\r" in value:
            value = orjson.dumps(orjson.loads(value))
        self._file.write(value + b"\n")
        self.written += 1

    def close(self) -> None:
        """Flush the file to disk and close it."""
        close_durably(self._file)


class OpenCitations:
    """One line per citation in the columns of the OpenCitations Index: each pair of works once, no unresolved references.

    ``citing`` and ``cited`` are work ids, ``scheme:value`` like identifiers in OpenCitations Meta. The other columns are empty:

    - An OCI contains a number that OpenCitations assigns to its supplier. reflink has no such number, so an OCI made here would
      belong to another supplier.
    - A link does not contain the dates, journals and authors of both works.
    """

    FILE: ClassVar = "citations.csv"
    COLUMNS: ClassVar = ("oci", "citing", "cited", "creation", "timespan", "journal_sc", "author_sc")

    def __init__(self, folder: Path) -> None:
        self.written = 0
        self._raw = (folder / self.FILE).open("wb", buffering=2**20)
        self._file = io.TextIOWrapper(self._raw, encoding="utf-8", newline="", write_through=True)
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(self.COLUMNS)
        self._citing, self._cited = "", set[str]()

    def write(self, value: bytes, row: Row) -> None:
        """Write one reference if it is linked and its paper has not cited the same work before."""
        if row.cited is None:
            return
        if row.citing != self._citing:  # references of a paper are adjacent: their ids begin with its id and "#"
            self._citing, self._cited = row.citing, set()
        if row.cited not in self._cited:
            self._cited.add(row.cited)
            self._rows.writerow(("", row.citing, row.cited, "", "", "", ""))
            self.written += 1

    def close(self) -> None:
        """Flush the file to disk and close it."""
        self._file.flush()
        close_durably(self._raw)


class Parquet:
    """One row per reference with the columns of ``Row``, in row groups of 131,072; needs pyarrow (extra ``export``)."""

    FILE: ClassVar = "links.parquet"

    def __init__(self, folder: Path) -> None:
        arrow, parquet = _pyarrow()
        self.written = 0
        self._arrow, self._schema = arrow, _schema(arrow)
        self._raw = (folder / self.FILE).open("wb", buffering=2**20)
        self._writer = parquet.ParquetWriter(self._raw, self._schema, compression="zstd")
        self._rows: list[Row] = []
        self._batches: list[Any] = []

    def write(self, value: bytes, row: Row) -> None:
        """Write one reference."""
        self._rows.append(row)
        self.written += 1
        if len(self._rows) == _TOGETHER:
            self._convert()

    def _convert(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [self._arrow.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._batches.append(self._arrow.record_batch(arrays, schema=self._schema))
        self._rows = []
        if sum(batch.num_rows for batch in self._batches) >= _GROUP:
            self._group()

    def _group(self) -> None:
        self._writer.write_table(self._arrow.Table.from_batches(self._batches, self._schema), row_group_size=_GROUP)
        self._batches = []

    def close(self) -> None:
        """Write the last group and the footer, flush to disk and close."""
        if self._rows:
            self._convert()
        if self._batches:
            self._group()
        self._writer.close()
        close_durably(self._raw)


#: Constructor of each format by name; its argument is the folder.
WRITERS: Final[dict[str, Callable[[Path], Format]]] = {"parquet": Parquet, "csv": OpenCitations, "jsonl": JsonLines}


def _schema(arrow: Any) -> Any:
    text, real, whole, moment = arrow.string(), arrow.float64(), arrow.int64(), arrow.timestamp("ms", tz="UTC")
    types = {
        **dict.fromkeys(("score", "probability", "runner_up_score", "runner_up_probability"), real),
        **dict.fromkeys(("paper_version", "catalog_offset"), whole), **dict.fromkeys(("arrived", "judged"), moment),
        "reasons": arrow.list_(text), "live": arrow.bool_(),
    }  # fmt: skip
    return arrow.schema(
        [arrow.field(name, types.get(name, text), nullable=name not in ("reference", "citing")) for name in Row._fields]
    )


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ExportFailed(
            "the format parquet needs pyarrow: pip install 'reflink-stream[export]', or choose among the others with --format"
        ) from None
    return pyarrow, pyarrow.parquet


def close_durably(file: BinaryIO) -> None:
    """Flush the file to disk and close it. Raises OSError."""
    durable.flush(file)
    file.close()
