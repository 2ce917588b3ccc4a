"""The error of Spark itself: a cluster that does not answer, a path that cannot be read or written, a task that fails."""

from __future__ import annotations

from reflink.errors import ReflinkError


class SparkFailed(ReflinkError):
    """Spark cannot run the backfill; the message is the first line of Spark's own."""
