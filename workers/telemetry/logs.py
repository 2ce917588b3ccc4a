"""Structured logs: one JSON object per line on standard error."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from reflink.terminal import printable

#: Attributes of every LogRecord; other attributes come from ``extra`` and are logged as fields.
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
#: Maximum number of lines of each kafka-python logger in ``_KAFKA_SECONDS`` seconds.
_KAFKA_LINES: Final = 10
_KAFKA_SECONDS: Final = 10.0


class JsonLines(logging.Formatter):
    """Formats time, level, logger, event, the fields in ``extra``, and an exception's traceback as one field.

    ``threads``: also the thread, whose name begins with that of its stage.
    """

    def __init__(self, *, threads: bool = False, **constant: Any) -> None:
        super().__init__()
        self.threads, self.constant = threads, constant

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **self.constant,
            **({"thread": record.threadName} if self.threads else {}),
            **{key: value for key, value in vars(record).items() if key not in _STANDARD},
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        try:
            return printable(orjson.dumps(fields, default=str).decode())
        except TypeError:
            # orjson rejects lone surrogates, keys that are not text, and integers above 64 bits; the line must not be lost.
            return printable(json.dumps({key: str(value) for key, value in fields.items()}))


class Throttle(logging.Filter):
    """Limits each logger to ``limit`` lines per ``seconds``, and then logs how many lines it held back.

    kafka-python logs every reconnection attempt in several lines. If a server accepts connections and closes them, it retries
    without pause: megabytes per second.
    """

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.limit, self.seconds, self._clock = limit, seconds, clock
        #: By logger: the beginning of its interval, and the number of lines since then.
        self._counts: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the line. The first line of an interval gets the number of lines held back before it."""
        now = self._clock()
        began, count = self._counts.get(record.name, (now, 0))
        if now - began >= self.seconds:
            if count > self.limit:
                record.held_back = count - self.limit
            began, count = now, 0
        self._counts[record.name] = (began, count + 1)
        return count < self.limit


def set_up(level: str, *, threads: bool = False, **constant: Any) -> None:
    """Send all logs to standard error as JSON lines; every line contains the ``constant`` fields (worker, slot).

    ``threads``: every line names its thread too, for a process with several stages.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(threads=threads, **constant))
    throttle = Throttle(_KAFKA_LINES, _KAFKA_SECONDS)
    handler.addFilter(lambda record: not record.name.startswith("kafka") or throttle.filter(record))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # kafka-python logs every reconnection at WARNING and joins at INFO; the runtime logs rebalances itself.
    logging.getLogger("kafka").setLevel(max(logging.WARNING, logging.getLevelName(level)))
    # It logs every request at INFO, and a traceback for every attempt that fails.
    logging.getLogger("elastic_transport").setLevel(logging.ERROR)
    # A killed worker's open transaction, retried until it ends, is not an error, but is logged ten times a second.
    logging.getLogger("kafka.coordinator.consumer").addFilter(lambda record: "UnstableOffsetCommit" not in record.getMessage())
