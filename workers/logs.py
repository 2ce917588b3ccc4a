"""Structured logs: one JSON object a line on standard error."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import orjson

#: Attributes of every LogRecord; whatever else one has came by ``extra`` and is logged as a field.
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
#: Lines that each logger of kafka-python may have in so many seconds.
_KAFKA_LINES: Final = 10
_KAFKA_SECONDS: Final = 10.0


class JsonLines(logging.Formatter):
    """Time, level, logger, event, and the fields given as ``extra``; an exception's traceback as one field."""

    def __init__(self, **constant: Any) -> None:
        super().__init__()
        self.constant = constant

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **self.constant,
            **{key: value for key, value in vars(record).items() if key not in _STANDARD},
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        try:
            return orjson.dumps(fields, default=str).decode()
        except TypeError:
            # What orjson refuses (lone surrogates, keys that are no text, integers above 64 bits) must not cost the line.
            return json.dumps({key: str(value) for key, value in fields.items()})


class Throttle(logging.Filter):
    """Lets ``most`` lines of each logger through in ``seconds``, and then says how many it held back.

    kafka-python tells every attempt to reconnect, in several lines and without pause where something accepts connections
    and closes them: megabytes a second.
    """

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.most, self.seconds, self._clock = most, seconds, clock
        #: By logger: when its time began, how many lines came since.
        self._counts: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is logged. The first one after a silence says what was held back."""
        now = self._clock()
        began, count = self._counts.get(record.name, (now, 0))
        if now - began >= self.seconds:
            if count > self.most:
                record.held_back = count - self.most
            began, count = now, 0
        self._counts[record.name] = (began, count + 1)
        return count < self.most


def set_up(level: str, **constant: Any) -> None:
    """Sends all logs to standard error as JSON lines; ``constant`` fields (worker, slot) stand on each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(**constant))
    throttle = Throttle(_KAFKA_LINES, _KAFKA_SECONDS)
    handler.addFilter(lambda record: not record.name.startswith("kafka") or throttle.filter(record))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # kafka-python tells every reconnect at WARNING and joins at INFO; rebalances are logged by the runtime itself.
    logging.getLogger("kafka").setLevel(max(logging.WARNING, logging.getLevelName(level)))
    # An open transaction of a killed worker, retried until it ends: no error, and said ten times a second.
    logging.getLogger("kafka.coordinator.consumer").addFilter(lambda record: "UnstableOffsetCommit" not in record.getMessage())
