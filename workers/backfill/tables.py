"""Types of columns, for Spark and for Arrow, and batches of rows between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow

#: Types of columns by name, as in Spark's SQL.
Columns = Mapping[str, str]

_TYPES: Final = {
    "string": pyarrow.string(),
    "binary": pyarrow.binary(),
    "double": pyarrow.float64(),
    "bigint": pyarrow.int64(),
    "array<string>": pyarrow.list_(pyarrow.string()),
}


def ddl(columns: Columns) -> str:
    """Return the columns as a schema for Spark."""
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())


def batch_of(rows: Iterable[Sequence[Any]], columns: Columns) -> pyarrow.RecordBatch:
    """Return rows, each with a value per column, as a batch for Spark."""
    schema = pyarrow.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pyarrow.array(each, field.type) for each, field in zip(values, schema, strict=True)]
    return pyarrow.record_batch(arrays, schema=schema)


def rows_of(batch: pyarrow.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a batch."""
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
