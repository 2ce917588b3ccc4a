"""Isolation of poison: find the records that cannot be handled, and handle the rest of the batch without them.

``isolate`` isolates poison by halving the batch. A batch with one poison record among n costs about 2 log2 n extra calls of
``Stage.handle``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

from reflink.errors import TooLarge
from reflink.stopwatch import Stopwatch
from workers.errors import WorkerError
from workers.kafka.topics import TOPICS
from workers.records import Received
from workers.stage import Output, Stage, View

log = logging.getLogger(__name__)

#: Maximum number of dead letters of a batch that are logged individually.
_LOGGED: Final = 20
_NOTHING: Final = nullcontext()


@dataclass
class Isolated:
    """The output of a batch's valid records, and its poison with the errors, by topic, partition and offset."""

    output: Output = field(default_factory=Output)
    poison: list[tuple[Received, Exception]] = field(default_factory=list)


def isolate(
    stage: Stage[Any, Any], records: Sequence[Received], in_flight: AbstractContextManager[None] = _NOTHING
) -> Isolated:
    """Decode and handle the records; isolate poison and handle the rest as if the poison had not been there.

    A failure of the worker itself (WorkerError, MemoryError) is not caused by a record and is raised. ``in_flight`` marks the
    records as in flight in the journal. It surrounds decoding and handling, during which a record may kill the process, but
    not ``Stage.view``, which waits for the catalog.
    """
    isolated = Isolated()
    events: list[tuple[Received, Any]] = []
    watch = Stopwatch()
    with in_flight:
        for record in records:
            try:
                events.append((record, stage.decode(record)))
            except (WorkerError, MemoryError):
                raise
            except Exception as error:
                isolated.poison.append((record, error))
    watch.lap("decode")
    isolated.output.observed.seconds.update(watch.seconds)
    _handle(stage, events, in_flight, isolated)
    isolated.poison.sort(key=lambda entry: (entry[0].topic, entry[0].partition, entry[0].offset))
    return isolated


def _handle(
    stage: Stage[Any, Any], events: Sequence[tuple[Received, Any]], in_flight: AbstractContextManager[None], isolated: Isolated
) -> None:
    """Get the view and handle the events. An event whose view cannot be provided is isolated in the same way."""
    if not events:
        return
    try:
        view = stage.view([event for _, event in events])
    except (WorkerError, MemoryError):
        raise
    except Exception as error:
        if len(events) == 1:
            isolated.poison.append((events[0][0], error))
            return
        middle = len(events) // 2
        _handle(stage, events[:middle], in_flight, isolated)
        _handle(stage, events[middle:], in_flight, isolated)
        return
    with in_flight:
        _halve(stage, events, view, isolated)


def _halve(stage: Stage[Any, Any], events: Sequence[tuple[Received, Any]], view: View, isolated: Isolated) -> View:
    if not events:
        return view
    try:
        output = stage.handle([event for _, event in events], view)
        _refuse_oversize(output)
    except (WorkerError, MemoryError):
        raise
    except Exception as error:
        if len(events) == 1:
            isolated.poison.append((events[0][0], error))
            return view
        middle = len(events) // 2
        view = _halve(stage, events[:middle], view, isolated)
        return _halve(stage, events[middle:], view, isolated)
    isolated.output.add(output)
    return view.after(output)


def _refuse_oversize(output: Output) -> None:
    for message in output.messages:
        limit = TOPICS[message.topic].max_message_bytes
        if message.size() > limit:
            raise TooLarge(
                f"its event for {message.topic} has {message.size()} bytes and the topic accepts {limit}: "
                "a single reference or work of this size is not valid"
            )


def report(poison: Sequence[tuple[Received, Exception]]) -> None:
    """Log the dead letters of a batch, at most _LOGGED of them individually, so that a flood does not fill the log."""
    for record, error in poison[:_LOGGED]:
        log.warning("dead letter", extra={"record": record.address, "error": type(error).__name__, "detail": str(error)})
    if len(poison) > _LOGGED:
        log.warning("more dead letters in this batch", extra={"count": len(poison) - _LOGGED})
