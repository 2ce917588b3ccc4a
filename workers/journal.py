"""What a slot has in hand, on local disk, so that a record that kills the process is found when the slot starts again.

Before records are handled their offsets are written down, and struck out afterwards. What is still there at the start is
what the process died on. Those records become *suspects*: they are handled one at a time, each written down alone, and the
one that was alone in hand at so many deaths is condemned: it is handled no more and goes to the dead letters. A process that
is killed for another reason costs nothing but that: its records are handled one at a time once.

The page cache outlives the process, so nothing is synced. A machine that goes down may tear the files: they then count as
empty.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import orjson

from reflink.errors import ReflinkError
from workers.errors import StoreFailed, WorkerError
from workers.stage import Place, Received

log = logging.getLogger(__name__)

#: Topic, partition, first and last offset.
Range = tuple[str, int, int, int]
#: Topic, partition, offset, timestamp: a topic that is created anew has the first three again.
Identity = tuple[str, int, int, int]


class KilledWorker(ReflinkError):
    """A record that was alone in hand each time the process died."""


@dataclass
class Suspects:
    """Who may have killed the process, and how often each record was alone in hand when it died."""

    ranges: dict[Place, list[tuple[int, int]]] = field(default_factory=dict)
    deaths: dict[Identity, int] = field(default_factory=dict)

    def add(self, ranges: Iterable[Range]) -> None:
        """Takes ranges in; those that overlap become one."""
        for topic, partition, first, last in ranges:
            merged: list[tuple[int, int]] = []
            for low, high in sorted([*self.ranges.get((topic, partition), ()), (first, last)]):
                if merged and low <= merged[-1][1] + 1:
                    merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
                else:
                    merged.append((low, high))
            self.ranges[topic, partition] = merged

    def __contains__(self, record: Received) -> bool:
        ranges = self.ranges.get((record.topic, record.partition), ())
        return any(low <= record.offset <= high for low, high in ranges) or identity(record) in self.deaths

    def __bool__(self) -> bool:
        return bool(self.ranges or self.deaths)


class Hand:
    """Written on entering, struck out on leaving; not when what is raised may be the records' doing."""

    def __init__(self, write: Callable[[bytes], None], line: bytes) -> None:
        self._write, self._line = write, line

    def __enter__(self) -> None:
        self._write(self._line)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or issubclass(kind, WorkerError):
            self._write(b"\n")


class Journal:
    """The journal of one worker's slot. Use as a context manager, with the slot held. One thread handles records."""

    def __init__(self, folder: Path, name: str, *, deaths: int) -> None:
        self._hand, self._suspects = folder / f"{name}.hand", folder / f"{name}.suspects"
        self.deaths = deaths
        self.suspects = Suspects()
        #: Tells this process's hand from the one before it, so that no death counts twice.
        self._run = time.time_ns()
        self._counted = 0
        self._met: set[Identity] = set()
        self._lock = threading.Lock()
        self._file: int | None = None
        self._broken = False

    def __enter__(self) -> Self:
        """Reads what the process before this one left. Raises StoreFailed when the folder takes no file."""
        self._read_suspects()
        try:
            self._file = os.open(self._hand, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreFailed(f"{self._hand}: {error.strerror}: free space, or set REFLINK_STATE_DIR") from None
        self._count_death()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """An end on purpose is no record's fault. Of any other (no memory, a panic in a library) the hand stays written."""
        with self._lock:
            if self._file is None:
                return
            if kind is None or issubclass(kind, ReflinkError):
                self._write(b"\n")
            os.close(self._file)
            self._file = None

    def suspect(self, record: Received) -> bool:
        """Whether the record must be handled alone."""
        return bool(self.suspects) and record in self.suspects

    def condemned(self, record: Received) -> KilledWorker | None:
        """Why the record must not be handled, when it must not."""
        who = identity(record)
        times = self.suspects.deaths.get(who, 0)
        if times < self.deaths:
            return None
        self._met.add(who)
        return KilledWorker(
            f"was in hand alone when the worker died {times} times (killed, segmentation fault, out of memory or hung): "
            "see the worker's last log lines and exit codes, mend the record or the worker, then replay the dead letter"
        )

    def hand(self, records: Sequence[Received]) -> Hand:
        """The records are in hand within it, which may be entered again: if the process dies there, it died on them."""
        return Hand(self._write_locked, _line([self._run, ranges_of(records)]))

    def passed(self, records: Sequence[Received]) -> None:
        """They were handled, in order: suspicion of them, and of what lies before them, is over.

        A condemned record stays so while this process lives: its dead letter may not be committed yet. Where it has been,
        the next process reads on beyond it.
        """
        suspects = self.suspects
        if not suspects or not records:
            return
        changed = False
        for place, last in {(record.topic, record.partition): record.offset for record in records}.items():
            if place in suspects.ranges:
                left = [(max(low, last + 1), high) for low, high in suspects.ranges[place] if high > last]
                suspects.ranges[place] = left
                if not left:
                    del suspects.ranges[place]
                    changed = True
            over = [each for each in suspects.deaths if each[:2] == place and each[2] <= last and each not in self._met]
            for each in over:
                del suspects.deaths[each]
                changed = True
        if changed:
            self._save()

    # Disk

    def _count_death(self) -> None:
        try:
            found = _content(self._hand.read_bytes())
            run, hand = (0, []) if found is None else (int(found[0]), [_hand_entry(each) for each in found[1]])
        except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
            log.warning("the journal cannot be read and counts as empty", extra={"path": str(self._hand), "reason": str(error)})
            run, hand = 0, []
        if hand and run != self._counted:
            self._counted = run
            self.suspects.add(entry[:4] for entry in hand)
            topic, partition, first, last, timestamp = hand[0]
            alone = len(hand) == 1 and first == last
            if alone:
                who = (topic, partition, first, timestamp)
                self.suspects.deaths[who] = self.suspects.deaths.get(who, 0) + 1
            log.warning(
                "the process before this one died with records in hand: they are handled one at a time",
                extra={
                    "records": [f"{each[0]}[{each[1]}]@{each[2]}-{each[3]}" for each in hand],
                    "deaths": self.suspects.deaths[who] if alone else 0,
                },
            )
            self._save()
        self._write_locked(b"\n")

    def _read_suspects(self) -> None:
        try:
            found = _content(self._suspects.read_bytes())
            if found is not None:
                self._counted = int(found["counted"])
                self.suspects.add((str(t), int(p), int(low), int(high)) for t, p, low, high in found["ranges"])
                self.suspects.deaths = {(str(t), int(p), int(o), int(at)): int(n) for t, p, o, at, n in found["deaths"]}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, KeyError) as error:
            self.suspects = Suspects()
            log.warning(
                "the journal's suspects cannot be read and count as none",
                extra={"path": str(self._suspects), "reason": str(error)},
            )

    def _save(self) -> None:
        content = {
            "counted": self._counted,
            "ranges": [[*place, *each] for place, ranges in self.suspects.ranges.items() for each in ranges],
            "deaths": [[*who, times] for who, times in self.suspects.deaths.items()],
        }
        partial = self._suspects.with_name(f"{self._suspects.name}.partial")
        try:
            partial.write_bytes(_line(content))
            partial.replace(self._suspects)
        except OSError as error:
            self._warn(error)

    def _write_locked(self, data: bytes) -> None:
        with self._lock:
            self._write(data)

    def _write(self, data: bytes) -> None:
        if self._file is None:  # the worker has ended
            return
        try:
            os.pwrite(self._file, data, 0)
        except OSError as error:
            self._warn(error)

    def _warn(self, error: OSError) -> None:
        # It guards against a rare fault: a full disk must not stop the stream for want of it.
        if not self._broken:
            log.error("the journal cannot be written: poison that kills would not be found", extra={"reason": str(error)})
        self._broken = True


def identity(record: Received) -> Identity:
    """What the record is known by in every process."""
    return (record.topic, record.partition, record.offset, record.timestamp)


def ranges_of(records: Sequence[Received]) -> list[tuple[str, int, int, int, int]]:
    """Topic, partition, first and last offset, and the first's timestamp, of records in order."""
    first: dict[Place, Received] = {}
    last: dict[Place, int] = {}
    for record in records:
        place = (record.topic, record.partition)
        first.setdefault(place, record)
        last[place] = record.offset
    return [(*place, begin.offset, last[place], begin.timestamp) for place, begin in first.items()]


def _hand_entry(entry: Any) -> tuple[str, int, int, int, int]:
    topic, partition, first, last, timestamp = entry
    return (str(topic), int(partition), int(first), int(last), int(timestamp))


def _line(content: object) -> bytes:
    data = orjson.dumps(content)
    return b"%08x %s\n" % (zlib.crc32(data), data)


def _content(data: bytes) -> Any:
    """What ``_line`` made of it; None where nothing is written. Raises ValueError for what is torn."""
    line, end, _ = data.partition(b"\n")
    if not line:
        return None
    check, _, content = line.partition(b" ")
    with suppress(ValueError):
        if end and int(check, 16) == zlib.crc32(content):
            return orjson.loads(content)
    raise ValueError("it is torn")
