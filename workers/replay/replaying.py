"""Judging again what was judged: references of ``links`` go to ``retries``, at a pace of their own, beside live traffic.

What is sent and how far it came are one transaction, so each reference is sent once, however often the command is ended. Its
transactional id goes with the name: a second command of that name ends the first one.

Everything up to the end is read twice. First for which record of each reference is the newest and how many are selected;
then to send them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from schemas import LinkEvent, ReferenceEvent
from workers.clients import end_of
from workers.curating import now_ms, read_overrides
from workers.errors import BrokerUnreachable
from workers.replay import position as positions
from workers.replay.lagging import Unread
from workers.replay.pacing import Pace
from workers.replay.position import BadReplay, Part, Position
from workers.replay.ranges import Range
from workers.replay.selecting import Selection, differences
from workers.replay.sending import ReplaySender
from workers.replay.sieving import Sieve, again
from workers.replay.superseding import Newest
from workers.settings import WorkerSettings
from workers.topics import TopicAdmin

log = logging.getLogger(__name__)

#: The group whose unread records are what ``ahead`` bounds.
READER: Final = "linker"
#: A transaction holds no more, and is committed no later.
_MOST_RECORDS: Final = 2000
_MOST_BYTES: Final = 4_000_000
_COMMIT_EVERY_S: Final = 2.0
_WAIT_S: Final = 0.05
_HELD_UP_S: Final = 0.25
_BACKOFF_S: Final = 1.0
_TELL_EVERY: Final = 2000


@dataclass(frozen=True)
class Told:
    """What a listener hears. ``phase``: ``count``, with how many offsets of all were read, then ``send``."""

    phase: str
    position: Position
    read: int
    of: int
    #: Whether the linkers are what it waits for.
    held_up: bool = False


class Replay:
    """One replay by name, from where it stands. ``listen`` hears how far it is; ``stopped`` is asked whether to end."""

    def __init__(
        self,
        settings: WorkerSettings,
        name: str,
        selection: Selection,
        *,
        per_second: float,
        ahead: int,
        listen: Callable[[Told], object] = lambda _: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        positions.group_of(settings, name)  # a name that cannot be is refused before anything is asked
        self.settings, self.name, self.selection = settings.model_copy(update={"slot": name}), name, selection
        self.per_second, self.ahead, self._listen, self._stopped = per_second, ahead, listen, stopped

    def run(self) -> Position:
        """Goes on until all is sent or ``stopped`` says so; faults of the broker are ridden out for ``call_deadline_s``.

        Raises BadReplay for a name that another selection has, Fenced, WrongTopic, BrokerRefused, BrokerUnreachable, Stalled.
        """
        with TopicAdmin(self.settings) as admin:
            found = admin.check(["links", "overrides", "retries"])
            self._partitions = {name: topic.partitions for name, topic in found.items()}
            self._topic_id = admin.topic_ids(["links"])["links"]
        with ReplaySender(self.settings, self._partitions["retries"]) as sender:
            position = self._position()
            sender.commit([], position)  # its ends are known from now on, whoever goes on with it
            if position.done:
                return position
            self._overrides = read_overrides(self.settings, self._partitions["overrides"])
            self._catalog_offset = end_of(self.settings, "catalog")
            self._sieve, position = self._counted(position)
            return self._all_sent(sender, position)

    def _position(self) -> Position:
        """Where it stands, or its beginning."""
        found = positions.read(self.settings, self.name)
        if found is not None:
            self._check(found)
            return found
        with Range(self.settings, "links", range(self._partitions["links"])) as links:
            parts = {partition: Part(first, first, links.ends[partition]) for partition, first in links.oldest.items()}
        now = now_ms()
        return Position(self.selection.digest(), self.selection.said(), self._topic_id, now, now, 0, parts)

    def _check(self, found: Position) -> None:
        begins_anew = f"take another --name, or `reflink-worker replay --name {self.name} --forget`"
        if found.digest != self.selection.digest():
            differ = differences(found.said, self.selection.said()) or "of papers or works"
            raise BadReplay(f"replay {self.name} has another selection ({differ}): {begins_anew}")
        if found.topic_id != self._topic_id or sorted(found.parts) != list(range(self._partitions["links"])):
            raise BadReplay(f"replay {self.name} is of another topic {self.settings.topic('links')}: {begins_anew}")

    def _range(self, parts: Mapping[int, Part]) -> Range:
        where = {partition: part.position for partition, part in parts.items()}
        return Range(self.settings, "links", list(where), positions=where, ends={p: part.end for p, part in parts.items()})

    def _counted(self, position: Position) -> tuple[Sieve, Position]:
        """Reads what is left once, so that the newest records are known and how many are selected."""
        left = sum(max(0, part.end - part.position) for part in position.parts.values())
        newest = Newest(left)
        sieve = Sieve(self.selection, position.began, newest, self._overrides)
        with self._range(position.parts) as links:
            while not links.done and not self._stopped():
                for record in links.take(_TELL_EVERY):
                    sieve.count(record)
                ahead_of = sum(max(0, part.end - links.positions[p]) for p, part in position.parts.items())
                self._listen(Told("count", position, left - ahead_of, left))
        return sieve, replace(position, selected=position.total("sent") + newest.counted)

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
                log.warning("the broker did not take it, trying again", extra={"reason": str(error)})
                sender.close()
                time.sleep(_BACKOFF_S)
        return position

    def _sent_from(self, sender: ReplaySender, position: Position) -> Position:
        """Sends from a position that is committed. Raises BrokerUnreachable: then it must be read again."""
        unread = Unread(self.settings, READER, "retries", self._partitions["retries"])
        with self._range(position.parts) as links, unread:
            pace = Pace(self.per_second, self.ahead, unread)
            committed_at = time.monotonic()
            while not position.done and not self._stopped():
                allowed = pace.allowed()
                if not allowed:
                    self._tell(position, pace)
                    time.sleep(_HELD_UP_S if pace.held_up else _WAIT_S)
                    continue
                events, parts = self._gathered(links, position.parts, min(allowed, _MOST_RECORDS))
                moved = position.moved(parts, now_ms())
                if events or moved.done or time.monotonic() - committed_at > _COMMIT_EVERY_S:
                    sender.commit(events, moved)
                    pace.sent(len(events))
                    committed_at = time.monotonic()
                position = moved  # what was only read is committed with what comes next
                self._tell(position, pace)
            if not position.done:
                sender.commit([], position)
        return position

    def _gathered(self, links: Range, before: Mapping[int, Part], most: int) -> tuple[list[ReferenceEvent], dict[int, Part]]:
        """The next references to be sent, and where that leaves each partition; at most about a second of reading."""
        parts = dict(before)
        counts: dict[int, dict[str, int]] = {partition: {} for partition in parts}
        events: list[ReferenceEvent] = []
        size, until = 0, time.monotonic() + 1.0
        while len(events) < most and size < _MOST_BYTES and not links.done and time.monotonic() < until:
            for record in links.take(min(most - len(events), 500)):
                taken = self._sieve.take(record)
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

    def _tell(self, position: Position, pace: Pace) -> None:
        total = sum(part.end - part.first for part in position.parts.values())
        left = sum(max(0, part.end - part.position) for part in position.parts.values())
        self._listen(Told("send", position, total - left, total, pace.held_up))
