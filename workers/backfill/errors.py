"""The error of Spark itself: a cluster that does not answer, a path that cannot be read or written, a task that fails."""

from __future__ import annotations

import re
from typing import Final

from reflink.errors import ReflinkError

#: The last line of a traceback of Python.
_RAISED: Final = re.compile(r"(?!java\.|org\.|scala\.|py4j\.)[a-z_][\w.]*\.[A-Z]\w+: |[A-Z]\w*Error: ")
_CALL: Final = "An error occurred while calling"
_LENGTH: Final = 500


class SparkFailed(ReflinkError):
    """Spark cannot run the backfill; the message is the line of Spark's own that names the fault."""


def cause(message: str) -> str:
    """Return the line of a message of Spark that names the fault.

    It is the last line of the first traceback of Python, which Java's stack trace follows; without one, the first line.
    """
    lines = [line.strip().removeprefix(": ") for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith(_CALL)]
    raised = (line for line in lines if _RAISED.match(line))
    return next(raised, lines[0] if lines else "no message")[:_LENGTH]
