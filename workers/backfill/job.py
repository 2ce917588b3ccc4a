"""A backfill from input to outcomes, step by step. Each step is complete before the next begins, so that its cost is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from workers.backfill import batches, components, statements
from workers.backfill.batches import MADE, OUTCOMES
from workers.backfill.deciding import Rules
from workers.backfill.joined_catalog import Found
from workers.backfill.reading import Read
from workers.backfill.tables import ddl


@dataclass
class Run:
    """What a backfill did: rows by table, rejected records, and seconds by step."""

    rows: dict[str, int] = field(default_factory=dict)
    rejected: int = 0
    rounds: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


class Backfill:
    """The tables of a run in a Spark session.

    ``report`` is called after each step with its name, its seconds and the number of rows.
    """

    def __init__(self, spark: SparkSession, out: str, report: Callable[[str, float, int], object] = lambda *_: None) -> None:
        self._spark, self._out, self._report = spark, out, report
        self.run = Run()

    def link(self, works: Read, references: Read, rules: Rules) -> Run:
        """Decide all references. Writes ``outcomes`` (Parquet, OUTCOMES), and ``rejected`` (JSON lines) if there are any."""
        known = self._take("works", works)
        asked = self._take("references", references)
        self._views(known, asked)
        began = time.monotonic()
        self.run.rounds = components.label(_Session(self._spark))
        self._done("components", began, self._spark.table("labels").count())
        decided = self._step("keys", self._joined(asked).mapInArrow(partial(batches.by_keys, rules), ddl(MADE)))
        opens = decided.where("open IS NOT NULL").select("open").repartition(4 * self._spark.sparkContext.defaultParallelism)
        settled = self._step("text", opens.mapInArrow(partial(batches.by_text, rules), ddl(MADE)))
        began = time.monotonic()
        every = decided.where("open IS NULL").unionAll(settled)
        every.where("error IS NULL").select(*OUTCOMES).write.parquet(f"{self._out}/outcomes")
        self._reject(every.where("error IS NOT NULL").select(f.col("reference").alias("source"), "error"))
        self._done("write", began, self.run.rows["references"])
        return self.run

    def _take(self, name: str, read: Read) -> DataFrame:
        rows = self._step(name, read.rows)
        if (faults := read.rejected()) is not None:
            self._reject(faults)
        read.release()
        return rows

    def _step(self, name: str, table: DataFrame) -> DataFrame:
        began = time.monotonic()
        kept = table.persist()
        self._done(name, began, kept.count())
        return kept

    def _done(self, name: str, began: float, rows: int) -> None:
        self.run.seconds[name], self.run.rows[name] = time.monotonic() - began, rows
        self._report(name, self.run.seconds[name], rows)

    def _reject(self, faults: DataFrame) -> None:
        if count := faults.count():
            faults.write.mode("append").json(f"{self._out}/rejected")
            self.run.rejected += count

    def _views(self, works: DataFrame, references: DataFrame) -> None:
        tables = {
            "works": works.select("id", "record"),
            "bearers": works.select(f.explode("bears").alias("key"), "id"),
            "places": works.select(f.explode("places").alias("key"), "id"),
            "cites": _exploded(references, "cites", 0).unionAll(_exploded(references, "citing", 1)),
            "cited_places": references.select(f.col("id").alias("reference"), f.explode("places").alias("key")),
        }
        for name, table in tables.items():
            table.createOrReplaceTempView(name)

    def _joined(self, references: DataFrame) -> DataFrame:
        """Return (record, found): each reference with the rows of `statements.FOUND`, null without any."""
        self._spark.sql(statements.IDENTIFIED).persist().createOrReplaceTempView("identified")
        self._spark.sql(statements.PLACED).createOrReplaceTempView("placed")
        found = (
            self._spark.sql(statements.FOUND).groupBy("reference").agg(f.collect_list(f.struct(*Found._fields)).alias("found"))
        )
        return references.join(found, references["id"] == found["reference"], "left").select("record", "found")


class _Session:
    """Spark as a `components.Tables`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def table(self, name: str, statement: str) -> None:
        # Without a checkpoint the plan would grow with the rounds. Copies are on the executors' disks: losing one ends the run.
        self._spark.sql(statement).localCheckpoint().createOrReplaceTempView(name)

    def number(self, statement: str) -> int:
        row = self._spark.sql(statement).first()
        return int(row[0]) if row is not None else 0


def _exploded(references: DataFrame, column: str, own: int) -> DataFrame:
    return references.select(f.col("id").alias("reference"), f.explode(column).alias("key"), f.lit(own).alias("own"))
