"""One run of a replay: send references of ``links`` to ``retries`` for re-evaluation, at a limited rate beside live traffic.

Invariant: an interruption neither loses a selected reference nor sends it twice.

1. One transaction holds the records sent and the position after them, so neither is committed without the other.
2. The replay's name determines the transactional id, so a second command with the same name fences the first.
3. The ends are committed before anything is sent, so every process that continues the replay stops at the same offsets.

Cost: the remaining records up to the ends are read twice. The first pass finds the newest record of each reference and counts
the selected ones; the second pass sends them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from schemas import LinkEvent, ReferenceEvent
from workers.config.settings import WorkerSettings
from workers.errors import BrokerUnreachable
from workers.kafka.clients import end_of
from workers.kafka.group_lag import Unread
from workers.kafka.range_reader import Range
from workers.kafka.topics import TopicAdmin
from workers.replay import checkpoint as positions
from workers.replay.checkpoint import BadReplay, Part, Position
from workers.replay.latest_offsets import Newest
from workers.replay.pacing import Pace
from workers.replay.record_filter import RecordFilter, again
from workers.replay.selection import Selection, differences
from workers.replay.transaction import ReplaySender
from workers.tools.overrides import now_ms, read_overrides

log = logging.getLogger(__name__)

#: The group whose unread records in ``retries`` are limited by ``ahead``.
READER: Final = "linker"
#: Limits of one transaction, and the longest time between two commits.
_MAX_RECORDS: Final = 2000
_MAX_BYTES: Final = 4_000_000
_COMMIT_EVERY_S: Final = 2.0
_WAIT_S: Final = 0.05
_HELD_UP_S: Final = 0.25
_BACKOFF_S: Final = 1.0
_REPORT_EVERY: Final = 2000


@dataclass(frozen=True)
class Report:
    """A progress report. ``phase`` is ``count``, then ``send``.

    ``read`` of ``of`` offsets were read: in ``count`` of those that remained at the start of this run, in ``send`` of the whole
    replay.
    """

    phase: str
    position: Position
    read: int
    of: int
    #: Whether the replay waits for the linkers.
    held_up: bool = False


class Replay:
    """One replay by name, continued from its committed position.

    It calls ``listen`` with its progress, and ends early when ``stopped`` returns true. Raises BadReplay for an invalid name.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        name: str,
        selection: Selection,
        *,
        per_second: float,
        ahead: int,
        listen: Callable[[Report], object] = lambda _: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        positions.group_of(settings, name)  # raises for an invalid name before any connection
        self.settings, self.name, self.selection = settings.model_copy(update={"slot": name}), name, selection
        self.per_second, self.ahead, self._listen, self._stopped = per_second, ahead, listen, stopped

    def run(self) -> Position:
        """Send until everything is sent or ``stopped`` returns true, and return the position reached.

        Broker faults are retried for ``call_deadline_s``. Raises BadReplay if the name belongs to another selection, Fenced,
        WrongTopic, BrokerRefused, BrokerUnreachable or Stalled.
        """
        with TopicAdmin(self.settings) as admin:
            found = admin.check(["links", "overrides", "retries"])
            self._partitions = {name: topic.partitions for name, topic in found.items()}
            self._topic_id = found["links"].topic_id
        with ReplaySender(self.settings, self._partitions["retries"]) as sender:
            position = self._position()
            sender.commit([], position)  # fixes the ends for every process that continues the replay
            if position.done:
                return position
            self._overrides = read_overrides(self.settings, self._partitions["overrides"])
            self._catalog_offset = end_of(self.settings, "catalog")
            self._record_filter, position = self._counted(position)
            return self._all_sent(sender, position)

    def _position(self) -> Position:
        """Return the committed position, or the initial one. Raises BadReplay if it belongs to another selection or topic."""
        found = positions.read(self.settings, self.name)
        if found is not None:
            self._check(found)
            return found
        with Range(self.settings, "links", range(self._partitions["links"])) as links:
            parts = {partition: Part(first, first, links.ends[partition]) for partition, first in links.oldest.items()}
        now = now_ms()
        return Position(self.selection.digest(), self.selection.criteria(), self._topic_id, now, now, 0, parts)

    def _check(self, found: Position) -> None:
        remedy = f"use another --name, or `reflink-worker replay --name {self.name} --forget`"
        if found.digest != self.selection.digest():
            differ = differences(found.criteria, self.selection.criteria()) or "papers or works"
            raise BadReplay(f"replay {self.name} has another selection ({differ}): {remedy}")
        if found.topic_id != self._topic_id or sorted(found.parts) != list(range(self._partitions["links"])):
            raise BadReplay(f"replay {self.name} belongs to another topic {self.settings.topic('links')}: {remedy}")

    def _range(self, parts: Mapping[int, Part]) -> Range:
        where = {partition: part.position for partition, part in parts.items()}
        return Range(self.settings, "links", list(where), positions=where, ends={p: part.end for p, part in parts.items()})

    def _counted(self, position: Position) -> tuple[RecordFilter, Position]:
        """Make the first pass over the remaining records; return the record filter and the position with ``selected`` set."""
        left = position.left
        newest = Newest(left)
        record_filter = RecordFilter(self.selection, position.began, newest, self._overrides)
        with self._range(position.parts) as links:
            while not links.done and not self._stopped():
                for record in links.take(_REPORT_EVERY):
                    record_filter.count(record)
                ahead_of = sum(max(0, part.end - links.positions[p]) for p, part in position.parts.items())
                self._listen(Report("count", position, left - ahead_of, left))
        return record_filter, replace(position, selected=position.total("sent") + newest.counted)

    def _all_sent(self, sender: ReplaySender, position: Position) -> Position:
        failed: float | None = None
        while not position.done and not self._stopped():
            try:
                if not sender.ready:
                    sender.open()
                    found = replace(self._position(), selected=position.selected)
                    sender.check(found)
                    failed = failed if found.parts == position.parts else None
                    position = found
                position = self._sent_from(sender, position)
            except BrokerUnreachable as error:
                failed = failed or time.monotonic()
                if time.monotonic() - failed > self.settings.call_deadline_s:
                    raise
                log.warning("sending failed, trying again", extra={"reason": str(error)})
                sender.close()
                time.sleep(_BACKOFF_S)
        return position

    def _sent_from(self, sender: ReplaySender, position: Position) -> Position:
        """Send from a committed position. After BrokerUnreachable the caller must read the committed position again."""
        unread = Unread(self.settings, READER, "retries", self._partitions["retries"])
        with self._range(position.parts) as links, unread:
            pace = Pace(self.per_second, self.ahead, unread)
            committed_at = time.monotonic()
            while not position.done and not self._stopped():
                allowed = pace.allowed()
                if not allowed:
                    self._report(position, pace)
                    time.sleep(_HELD_UP_S if pace.held_up else _WAIT_S)
                    continue
                events, parts = self._collected(links, position.parts, min(allowed, _MAX_RECORDS))
                moved = position.moved(parts, now_ms())
                if events or moved.done or time.monotonic() - committed_at > _COMMIT_EVERY_S:
                    sender.commit(events, moved)
                    pace.sent(len(events))
                    committed_at = time.monotonic()
                position = moved  # progress without records is committed with the next transaction
                self._report(position, pace)
            if not position.done:
                sender.commit([], position)
        return position

    def _collected(self, links: Range, before: Mapping[int, Part], limit: int) -> tuple[list[ReferenceEvent], dict[int, Part]]:
        """Return the next references to send and the resulting parts, after reading for about one second at most."""
        parts = dict(before)
        counts: dict[int, dict[str, int]] = {partition: {} for partition in parts}
        events: list[ReferenceEvent] = []
        size, until = 0, time.monotonic() + 1.0
        while len(events) < limit and size < _MAX_BYTES and not links.done and time.monotonic() < until:
            for record in links.take(min(limit - len(events), 500)):
                taken = self._record_filter.take(record)
                if taken is None:
                    continue
                what = taken if isinstance(taken, str) else "sent"
                counts[record.partition][what] = counts[record.partition].get(what, 0) + 1
                if isinstance(taken, LinkEvent):
                    events.append(again(taken, self._catalog_offset, self._overrides))
                    size += len(record.value or b"")
        for partition, part in parts.items():
            more = {what: getattr(part, what) + count for what, count in counts[partition].items()}
            parts[partition] = replace(part, position=links.positions[partition], **more)
        return events, parts

    def _report(self, position: Position, pace: Pace) -> None:
        total = sum(part.end - part.first for part in position.parts.values())
        self._listen(Report("send", position, total - position.left, total, pace.held_up))
