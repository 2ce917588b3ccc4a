"""Records that cannot be handled: found by halving, sent to the dead letters, and too many of them end the worker."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

from reflink.errors import ReflinkError, TooLarge
from reflink.stopwatch import Stopwatch
from workers.errors import DeadLetterFlood, WorkerError
from workers.stage import Message, Output, Received, Stage, View
from workers.topics import TOPICS

log = logging.getLogger(__name__)

#: Headers of a dead letter, beside those the record had.
EXCEPTION, MESSAGE = "reflink-exception", "reflink-message"
TOPIC, PARTITION, OFFSET, TIMESTAMP = "reflink-topic", "reflink-partition", "reflink-offset", "reflink-timestamp"
WORKER, ATTEMPT = "reflink-worker", "reflink-attempt"
#: Headers of a record that says what became of a dead letter: the dead letter's offset, and ``replayed`` or ``dropped``.
RESOLVES, RESOLUTION = "reflink-resolves", "reflink-resolution"
OURS: Final = frozenset({EXCEPTION, MESSAGE, TOPIC, PARTITION, OFFSET, TIMESTAMP, WORKER, ATTEMPT, RESOLVES, RESOLUTION})
_MESSAGE_BYTES: Final = 2000
_NOTHING: Final = nullcontext()


@dataclass
class Judged:
    """The output of a batch's sound records, and its poisonous ones with what they raised, in order of offset."""

    output: Output = field(default_factory=Output)
    poison: list[tuple[Received, Exception]] = field(default_factory=list)


def judge(stage: Stage[Any, Any], records: Sequence[Received], hand: AbstractContextManager[None] = _NOTHING) -> Judged:
    """Decodes and handles the records; whatever raises is isolated, the rest goes on as if it had not been there.

    A failure of the worker itself (WorkerError, or no memory) is no record's fault and is raised. Within ``hand`` the process
    would die of the records; not within ``view``, which waits for the catalog.
    """
    judged = Judged()
    events: list[tuple[Received, Any]] = []
    watch = Stopwatch()
    with hand:
        for record in records:
            try:
                events.append((record, stage.decode(record)))
            except (WorkerError, MemoryError):
                raise
            except Exception as error:
                judged.poison.append((record, error))
    watch.lap("decode")
    judged.output.observed.seconds.update(watch.seconds)
    _see(stage, events, hand, judged)
    judged.poison.sort(key=lambda entry: (entry[0].topic, entry[0].partition, entry[0].offset))
    return judged


def _see(
    stage: Stage[Any, Any], events: Sequence[tuple[Received, Any]], hand: AbstractContextManager[None], judged: Judged
) -> None:
    """Handles the events with what they may look at; one that asks for what cannot be is isolated in the same way."""
    if not events:
        return
    try:
        view = stage.view([event for _, event in events])
    except (WorkerError, MemoryError):
        raise
    except Exception as error:
        if len(events) == 1:
            judged.poison.append((events[0][0], error))
            return
        middle = len(events) // 2
        _see(stage, events[:middle], hand, judged)
        _see(stage, events[middle:], hand, judged)
        return
    with hand:
        _halve(stage, events, view, judged)


def _halve(stage: Stage[Any, Any], events: Sequence[tuple[Received, Any]], view: View, judged: Judged) -> View:
    if not events:
        return view
    try:
        output = stage.handle([event for _, event in events], view)
        _refuse_oversize(output)
    except (WorkerError, MemoryError):
        raise
    except Exception as error:
        if len(events) == 1:
            judged.poison.append((events[0][0], error))
            return view
        middle = len(events) // 2
        view = _halve(stage, events[:middle], view, judged)
        return _halve(stage, events[middle:], view, judged)
    judged.output.add(output)
    return view.after(output)


def _refuse_oversize(output: Output) -> None:
    for message in output.messages:
        limit = TOPICS[message.topic].max_message_bytes
        if message.size() > limit:
            raise TooLarge(
                f"its event for {message.topic} has {message.size()} bytes and the topic takes {limit}: "
                "one reference or work this large is no bibliography"
            )


def dead_letter(record: Received, error: Exception, worker: str) -> Message:
    """The record as received, with what was wrong and where it came from in its headers."""
    if not isinstance(error, ReflinkError):
        log.error("unexpected error", extra={"record": record.place}, exc_info=error)
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
    # A record without key and value is one that no producer could write.
    key = record.key if record.key is not None or record.value is not None else b""
    return Message("dead-letters", key, record.value, headers + added)


def attempts(record: Received) -> int:
    """How often it was a dead letter already. Anybody may write the header, so it may say anything."""
    said = record.header(ATTEMPT) or ""
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else 0


class FloodGuard:
    """Stops the worker when dead letters are a flood: then it is the deploy that is bad, not the papers."""

    def __init__(self, *, window: int, share: float, run: int) -> None:
        self.window, self.share, self.run = window, share, run
        self._recent: deque[bool] = deque(maxlen=window)
        self._dead = 0
        self._in_a_row = 0

    def watch(self, records: Sequence[Received], poison: Sequence[tuple[Received, Exception]]) -> None:
        """Counts a batch, before it is committed. Raises DeadLetterFlood with the last error."""
        dead = {record.place: error for record, error in poison}
        for record in records:
            if len(self._recent) == self.window:
                self._dead -= self._recent[0]
            error = dead.get(record.place)
            self._recent.append(error is not None)
            self._dead += error is not None
            self._in_a_row = self._in_a_row + 1 if error is not None else 0
            if self._in_a_row >= self.run or self._dead > self.share * self.window:
                raise DeadLetterFlood(
                    f"{self._dead} of the last {len(self._recent)} records could not be handled, {self._in_a_row} in a row; "
                    f"nothing of this batch is committed; the last is {record.place}: {type(error).__name__}: {error}"
                )
