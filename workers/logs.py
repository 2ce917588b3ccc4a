"""Structured logs: one JSON object a line on standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

import orjson

#: Attributes of every LogRecord; whatever else one has came by ``extra`` and is logged as a field.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


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


def set_up(level: str, **constant: Any) -> None:
    """Sends all logs to standard error as JSON lines; ``constant`` fields (worker, slot) stand on each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(**constant))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # kafka-python tells every reconnect at WARNING and joins at INFO; rebalances are logged by the runtime itself.
    logging.getLogger("kafka").setLevel(max(logging.WARNING, logging.getLevelName(level)))
    # An open transaction of a killed worker, retried until it ends: no error, and said ten times a second.
    logging.getLogger("kafka.coordinator.consumer").addFilter(lambda record: "UnstableOffsetCommit" not in record.getMessage())
