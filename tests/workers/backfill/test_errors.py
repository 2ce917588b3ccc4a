"""The line of Spark's messages that names the fault."""

from __future__ import annotations

import pytest

from workers.backfill.errors import cause

TASK = """An error occurred while calling o161.count.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/somewhere/worker.py", line 1, in main
    process()
reflink.errors.SnapshotError: /shared/catalog: no such folder

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
Caused by: java.lang.Exception: another
"""


@pytest.mark.parametrize(("message", "line"), [
    (TASK, "reflink.errors.SnapshotError: /shared/catalog: no such folder"),
    (TASK.replace("reflink.errors.SnapshotError", "ValueError"), "ValueError: /shared/catalog: no such folder"),
    ("An error occurred while calling o1.x.\n: java.io.IOException: disk full\n\tat a.b", "java.io.IOException: disk full"),
    ("[PATH_NOT_FOUND] Path does not exist: file:/x.\nmore", "[PATH_NOT_FOUND] Path does not exist: file:/x."),
    ("", "no message"),
    ("x" * 1000, "x" * 500),
])  # fmt: skip
def test_the_line_that_names_the_fault(message: str, line: str):
    assert cause(message) == line
