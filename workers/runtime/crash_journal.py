"""The journal of a slot: records in flight, on local disk, so that the next process finds a record that kills the process.

1. The worker writes the offsets of records to the journal before it handles them, and erases them afterwards. So offsets that
   are there at the start belong to records that were in flight when the previous process crashed.
2. These records become *suspects*: the worker handles them one at a time and writes each to the journal alone.
3. A record that was alone in flight at ``deaths`` crashes is condemned: the worker no longer handles it but makes it a dead
   letter.
4. If a process is killed for another reason, the only cost is that its records are once handled one at a time.

Files are not synced, because the page cache outlives the process. A crash of the machine may leave torn files, which count as
empty. The cost is two short writes around decoding a batch and two around handling it.
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
from workers.records import Partition, Received

log = logging.getLogger(__name__)

#: Topic, partition, first and last offset.
Range = tuple[str, int, int, int]
#: Topic, partition, offset, timestamp. The timestamp is needed because a recreated topic repeats the first three.
Identity = tuple[str, int, int, int]


class KilledWorker(ReflinkError):
    """The record was alone in flight at each of several crashes of the worker."""


@dataclass
class Suspects:
    """Records that may have killed the process, and how often each was alone in flight at a crash."""

    ranges: dict[Partition, list[tuple[int, int]]] = field(default_factory=dict)
    deaths: dict[Identity, int] = field(default_factory=dict)

    def add(self, ranges: Iterable[Range]) -> None:
        """Add ranges; overlapping and adjacent ranges are merged."""
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


class JournalEntry:
    """Context manager that writes a journal entry on entry and erases it on exit.

    The entry stays if an exception other than WorkerError leaves the context, because the records may have caused it.
    """

    def __init__(self, write: Callable[[bytes], None], line: bytes) -> None:
        self._write, self._line = write, line

    def __enter__(self) -> None:
        self._write(self._line)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or issubclass(kind, WorkerError):
            self._write(b"\n")


class Journal:
    """The journal of one slot. Use as a context manager while holding the slot's lock. Only one thread handles records.

    ``deaths``: number of crashes with a record alone in flight after which the record is condemned.
    """

    def __init__(self, folder: Path, name: str, *, deaths: int) -> None:
        self._path, self._suspects = folder / f"{name}.hand", folder / f"{name}.suspects"
        self.deaths = deaths
        self.suspects = Suspects()
        #: Distinguishes the entry of this process from that of its predecessor, so that no crash counts twice.
        self._run = time.time_ns()
        self._counted = 0
        self._met: set[Identity] = set()
        self._lock = threading.Lock()
        self._file: int | None = None
        self._broken = False

    def __enter__(self) -> Self:
        """Read the files of the previous process. Raises StoreFailed if the folder is not writable."""
        self._read_suspects()
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreFailed(f"{self._path}: {error.strerror}: free space, or set REFLINK_STATE_DIR") from None
        self._count_death()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Erase the entry after an intended end (ReflinkError); keep it after any other (no memory, a panic in a library)."""
        with self._lock:
            if self._file is None:
                return
            if kind is None or issubclass(kind, ReflinkError):
                self._write(b"\n")
            os.close(self._file)
            self._file = None

    def suspect(self, record: Received) -> bool:
        """Return whether the record must be handled alone."""
        return bool(self.suspects) and record in self.suspects

    def condemned(self, record: Received) -> KilledWorker | None:
        """Return the error of a condemned record, which must not be handled; None for any other record."""
        who = identity(record)
        times = self.suspects.deaths.get(who, 0)
        if times < self.deaths:
            return None
        self._met.add(who)
        return KilledWorker(
            f"was alone in flight when the worker died {times} times (killed, segmentation fault, out of memory or hung): "
            "see the worker's last log lines and exit codes, repair the record or the worker, then replay the dead letter"
        )

    def in_flight(self, records: Sequence[Received]) -> JournalEntry:
        """Return a re-enterable context manager within which the records are in flight, so that a crash is counted to them."""
        return JournalEntry(self._write_locked, _line([self._run, ranges_of(records)]))

    def passed(self, records: Sequence[Received]) -> None:
        """Clear the suspicion of records that were handled in order, and of all records before them.

        A condemned record stays condemned until the process ends, because its dead letter may not be committed yet. Once it is
        committed, the next process reads on after the record.
        """
        suspects = self.suspects
        if not suspects or not records:
            return
        changed = False
        for partition, last in {(record.topic, record.partition): record.offset for record in records}.items():
            if partition in suspects.ranges:
                left = [(max(low, last + 1), high) for low, high in suspects.ranges[partition] if high > last]
                suspects.ranges[partition] = left
                if not left:
                    del suspects.ranges[partition]
                    changed = True
            over = [each for each in suspects.deaths if each[:2] == partition and each[2] <= last and each not in self._met]
            for each in over:
                del suspects.deaths[each]
                changed = True
        if changed:
            self._save()

    # Disk

    def _count_death(self) -> None:
        try:
            found = _content(self._path.read_bytes())
            run, records = (0, []) if found is None else (int(found[0]), [_range(each) for each in found[1]])
        except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
            log.warning("the journal cannot be read and counts as empty", extra={"path": str(self._path), "reason": str(error)})
            run, records = 0, []
        if records and run != self._counted:
            self._counted = run
            self.suspects.add(entry[:4] for entry in records)
            topic, number, first, last, timestamp = records[0]
            alone = len(records) == 1 and first == last
            if alone:
                who = (topic, number, first, timestamp)
                self.suspects.deaths[who] = self.suspects.deaths.get(who, 0) + 1
            log.warning(
                "the process before this one died with records in flight: they are handled one at a time",
                extra={
                    "records": [f"{each[0]}[{each[1]}]@{each[2]}-{each[3]}" for each in records],
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
            "ranges": [[*partition, *each] for partition, ranges in self.suspects.ranges.items() for each in ranges],
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
        # The journal guards against a rare fault, so a full disk must not stop the stream.
        if not self._broken:
            log.error(
                "the journal cannot be written: a record that ends the process would not be found", extra={"reason": str(error)}
            )
        self._broken = True


def identity(record: Received) -> Identity:
    """Return the identity of the record, which is the same in every process."""
    return (record.topic, record.partition, record.offset, record.timestamp)


def ranges_of(records: Sequence[Received]) -> list[tuple[str, int, int, int, int]]:
    """Return, per partition, topic, partition, first and last offset, and the timestamp of the first of the ordered records."""
    first: dict[Partition, Received] = {}
    last: dict[Partition, int] = {}
    for record in records:
        partition = (record.topic, record.partition)
        first.setdefault(partition, record)
        last[partition] = record.offset
    return [(*partition, begin.offset, last[partition], begin.timestamp) for partition, begin in first.items()]


def _range(entry: Any) -> tuple[str, int, int, int, int]:
    topic, partition, first, last, timestamp = entry
    return (str(topic), int(partition), int(first), int(last), int(timestamp))


def _line(content: object) -> bytes:
    data = orjson.dumps(content)
    return b"%08x %s\n" % (zlib.crc32(data), data)


def _content(data: bytes) -> Any:
    """Parse a line written by ``_line``; None if it is empty. Raises ValueError if it is torn."""
    line, end, _ = data.partition(b"\n")
    if not line:
        return None
    check, _, content = line.partition(b" ")
    with suppress(ValueError):
        if end and int(check, 16) == zlib.crc32(content):
            return orjson.loads(content)
    raise ValueError("it is torn")
