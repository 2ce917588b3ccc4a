"""Dead letters: a record that cannot be handled, as received, with the error and its origin in its headers."""

from __future__ import annotations

import logging
from typing import Final

from reflink.errors import ReflinkError
from workers.records import Message, Received

log = logging.getLogger(__name__)

#: Headers of a dead letter, in addition to those of the record.
EXCEPTION, MESSAGE = "reflink-exception", "reflink-message"
TOPIC, PARTITION, OFFSET, TIMESTAMP = "reflink-topic", "reflink-partition", "reflink-offset", "reflink-timestamp"
WORKER, ATTEMPT = "reflink-worker", "reflink-attempt"
#: Headers of a record that resolves a dead letter: the dead letter's offset, and ``replayed`` or ``dropped``.
RESOLVES, RESOLUTION = "reflink-resolves", "reflink-resolution"
OURS: Final = frozenset({EXCEPTION, MESSAGE, TOPIC, PARTITION, OFFSET, TIMESTAMP, WORKER, ATTEMPT, RESOLVES, RESOLUTION})
_MESSAGE_BYTES: Final = 2000


def dead_letter(record: Received, error: Exception, worker: str) -> Message:
    """Return the record as received, with the error and the record's origin in its headers."""
    if not isinstance(error, ReflinkError):
        log.error("unexpected error", extra={"record": record.address}, exc_info=error)
    attempt = attempts(record) + 1
    notes = {
        EXCEPTION: type(error).__name__,
        MESSAGE: str(error) or type(error).__name__,
        TOPIC: record.topic,
        PARTITION: str(record.partition),
        OFFSET: str(record.offset),
        TIMESTAMP: str(record.timestamp),
        WORKER: worker,
        ATTEMPT: str(attempt),
    }
    headers = tuple(header for header in record.headers if header[0] not in OURS)
    added = tuple((name, text.encode("utf-8", "replace")[:_MESSAGE_BYTES]) for name, text in notes.items())
    # No producer could write a record that has neither key nor value.
    key = record.key if record.key is not None or record.value is not None else b""
    return Message("dead-letters", key, record.value, headers + added)


def attempts(record: Received) -> int:
    """Return how often the record has been a dead letter; 0 if the header is invalid, since any producer can write it."""
    header = record.header(ATTEMPT) or ""
    return int(header) if header.isascii() and header.isdigit() and len(header) < 10 else 0
