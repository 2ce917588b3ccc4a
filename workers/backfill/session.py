"""A Spark session with what a backfill needs, and Spark's errors as one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from workers.backfill.errors import SparkFailed, cause

#: Rows of an Arrow batch, which is also the batch of a verdict.
_BATCH: Final = 4096
#: Partitions of a shuffle on one machine; Spark's own number, 200, is for clusters.
_LOCAL_PARTITIONS: Final = 16
_GATEWAY: Final = "PYSPARK_GATEWAY_PORT"


@contextmanager
def session(master: str | None, conf: Mapping[str, str], *, progress: bool) -> Iterator[SparkSession]:
    """Open a session and stop it afterwards.

    ``master``: URL of the cluster; None: that of the environment (spark-submit), else this machine. ``conf``: settings of
    Spark, which outrank reflink's. ``progress``: show the progress of Spark's stages on standard error. Errors of Spark become
    SparkFailed.
    """
    builder = SparkSession.builder.appName("reflink-spark")
    if master is not None:
        builder = builder.master(master)
    settings = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH),
        "spark.ui.showConsoleProgress": str(progress).lower(),
        **conf,
    }
    # spark-submit starts the gateway before this process, and chooses master and Python itself.
    if (master or "local").startswith("local") and _GATEWAY not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings.setdefault("spark.sql.shuffle.partitions", str(_LOCAL_PARTITIONS))
    with spark_errors():
        spark = builder.config(map=settings).getOrCreate()
        try:
            spark.sparkContext.setLogLevel("ERROR")
            yield spark
        finally:
            spark.stop()


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn an error of Spark into SparkFailed."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(cause(str(error))) from error


def exists(spark: SparkSession, path: str) -> bool:
    """Return whether a file or folder exists, in any file system that Spark knows."""
    context = spark.sparkContext
    assert context._jvm is not None
    assert context._jsc is not None
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    return bool(place.getFileSystem(context._jsc.hadoopConfiguration()).exists(place))
