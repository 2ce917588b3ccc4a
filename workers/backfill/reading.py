"""Read works, references and papers with Spark; executors parse them with the library.

Files are JSON lines, plain or compressed, or Parquet, recognised by the file name. A compressed file is read by one task.
Records that cannot be read are kept apart. Of records with the same id the last one counts, in the order of files' names and
lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from reflink.catalog.mapped import MappedWorks
from reflink.catalog.parts import WORKS as CATALOG_WORKS
from reflink.cli.inputs import parse_file
from reflink.entities import Work
from reflink.errors import ReflinkError
from reflink.formats import endings
from workers.backfill.records import reference_row, references_of, work_of, work_row
from workers.backfill.tables import Columns, batch_of, ddl, rows_of

WORKS: Final = {"id": "string", "record": "binary", "bears": "array<string>", "places": "array<string>"}
REFERENCES: Final = {
    "id": "string", "record": "binary", "cites": "array<string>", "places": "array<string>", "citing": "array<string>"
}  # fmt: skip
#: Where a row comes from, which also orders the rows, and the fault of a record that cannot be read.
_ORIGIN: Final = {"file": "string", "start": "bigint", "line": "bigint", "at": "bigint"}
_FAULT: Final = {"error": "string"}

#: Returns the rows of a stored value, given its file. Raises ReflinkError.
Parse = Callable[[bytes, str], Iterable[Sequence[Any]]]


@dataclass(frozen=True)
class Read:
    """A table with one row for each id. ``parsed``: the kept rows that it comes from, and faults; None without faults."""

    rows: DataFrame
    parsed: DataFrame | None

    def rejected(self) -> DataFrame | None:
        """Return the records that could not be read: source and error; None if there are none."""
        if self.parsed is None:
            return None
        return self.parsed.where("error IS NOT NULL").select(f.col("file").alias("source"), "error")

    def release(self) -> None:
        """Stop keeping ``parsed``, after ``rows`` were kept."""
        if self.parsed is not None:
            self.parsed.unpersist()


def read_works(spark: SparkSession, paths: Sequence[str]) -> Read:
    """Read works: rows of WORKS. Parquet has the columns of the JSON."""
    return _read(_lines(spark, paths), lambda value, _: [work_row(work_of(value))], WORKS)


def read_snapshot(spark: SparkSession, folder: str) -> Read:
    """Read the works of a catalog's snapshot, unchanged: rows of WORKS. ``folder``: absolute, on every machine.

    Executors read slices of it. Its ids are distinct, so nothing is compared or rejected.
    """
    works, parallel = MappedWorks.open(Path(folder) / CATALOG_WORKS), spark.sparkContext.defaultParallelism
    slices = spark.range(0, len(works), 1, 4 * parallel)
    return Read(slices.mapInArrow(partial(_slices, folder), ddl(WORKS)), None)


def _slices(folder: str, batches: Iterator[Any]) -> Iterator[Any]:
    works = MappedWorks.open(Path(folder) / CATALOG_WORKS)
    for batch in batches:
        yield batch_of([work_row(Work.from_json(works.line(row))) for (row,) in rows_of(batch)], WORKS)


def read_references(spark: SparkSession, paths: Sequence[str]) -> Read:
    """Read papers as ``reflink parse --json`` writes them, or references one by one: rows of REFERENCES."""
    return _read(_lines(spark, paths), lambda value, _: map(reference_row, references_of(value)), REFERENCES)


def read_papers(spark: SparkSession, paths: Sequence[str], format_name: str | None = None) -> Read:
    """Parse papers in executors: rows of REFERENCES.

    ``paths``: folders of files, plain or gzip, of all formats of papers, or Parquet with the columns ``path`` and ``content``.
    ``format_name``: the format of all papers; by default each is told by its content.
    """

    def parse(value: bytes, file: str) -> Iterator[Sequence[Any]]:
        found = parse_file(file, value, format_name)
        if isinstance(found, ReflinkError):
            raise found
        for parsed in found.papers:
            yield from map(reference_row, parsed.paper.references)

    return _read(_contents(spark, paths), parse, REFERENCES)


def _lines(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    def table(path: str) -> DataFrame:
        if path.rstrip("/").endswith(".parquet"):
            read = spark.read.parquet(path)
            # Null fields are left out, so a record of Parquet is read like a line.
            value = f.to_json(f.struct("*"))
        else:
            read, value = spark.read.text(path), f.col("value")
        origin = (f.col("_metadata.file_path"), f.col("_metadata.file_block_start"))
        return read.select(value.cast("binary"), *origin, f.monotonically_increasing_id())

    return reduce(DataFrame.unionAll, map(table, paths))


def _contents(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    def table(path: str) -> DataFrame:
        if path.rstrip("/").endswith(".parquet"):
            read = spark.read.parquet(path)
        else:
            read = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
            read = read.where(f.lower("path").rlike("(" + "|".join(each.replace(".", "[.]") for each in endings()) + ")$"))
        return read.select(f.col("content").cast("binary"), "path", f.lit(0).cast("bigint"), f.monotonically_increasing_id())

    return reduce(DataFrame.unionAll, map(table, paths))


def _read(stored: DataFrame, parse: Parse, columns: Columns) -> Read:
    spark = stored.sparkSession
    parallel = spark.sparkContext.defaultParallelism
    if stored.rdd.getNumPartitions() < parallel:  # a compressed file is one partition
        stored = stored.repartition(4 * parallel)
    made = {**columns, **_ORIGIN, **_FAULT}
    parsed = stored.mapInArrow(_parser(parse, columns, made), ddl(made)).persist()
    latest = f.max_by(f.struct(*(name for name in columns if name != "id")), f.struct(*_ORIGIN))
    rows = parsed.where("error IS NULL").groupBy("id").agg(latest.alias("latest")).select("id", "latest.*")
    return Read(rows, parsed)


def _parser(parse: Parse, columns: Columns, made: Columns) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows: list[Sequence[Any]] = []
            for value, file, start, line in rows_of(batch):
                try:
                    found = list(parse(value, file)) if value.strip() else []
                    rows += [(*row, file, start, line, at, None) for at, row in enumerate(found)]
                except ReflinkError as error:
                    rows.append((*[None] * len(columns), file, start, line, 0, str(error)))
            yield batch_of(rows, made)

    return run
