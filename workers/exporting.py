"""The graph as files: the topic ``links`` up to one moment, the newest record of each reference.

First everything is read, then the moment is chosen, then what was written between is read, within seconds. The other way
round, the moment first, compaction could take a record away in favour of one that came after the moment, and a reference
that was there would be missing.

The moment: the last stable offsets of all partitions are asked for, then the ends without regard to transactions. Where both
are the same in all partitions, there was an instant between the two questions at which no transaction was open: offsets only
grow. So every transaction of the ledger is in the export with all its links, or with none. A ledger sends all links of a
transaction, and has them acknowledged, before the first partition is told of the commit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

from kafka import KafkaConsumer, TopicPartition

from reflink.graph.export import GraphExport
from reflink.graph.newest import Newest
from workers.clients import asked, connect, plain_consumer
from workers.errors import Stalled
from workers.settings import KafkaSettings
from workers.topics import TopicAdmin

log = logging.getLogger(__name__)

TOPIC: Final = "links"
Phase = Literal["read", "written"]
#: Hears how far a phase is: offsets of the topic read, then references written. The total is None where it is not known.
Progress = Callable[[Phase, int, int | None], object]

#: Reading is near the end when what was new took no longer than this.
_NEAR_S: Final = 5.0
_ASK_AGAIN_S: Final = 0.02
#: Without anything new for so long, the broker is taken to be stuck.
_PATIENCE_S: Final = 60.0
_CALL_MS: Final = 30_000


@dataclass(frozen=True)
class Moment:
    """The first offset of each partition that is not in the export. ``whole``: no transaction was open at that moment.

    Else transactions that were about to be committed may be in it with the links of some partitions only. A paper's links
    are in one partition, so what a transaction says of one paper is never torn.
    """

    ends: Mapping[int, int]
    whole: bool
    at: datetime


def export(
    settings: KafkaSettings, out: Path, formats: Sequence[str], *, wait_s: float = 10.0, progress: Progress = lambda *_: None
) -> dict[str, Any]:
    """Writes the links as they are now into the folder ``out``. Returns the manifest that is in it.

    It waits at most ``wait_s`` for a moment without open transactions. Raises ExportFailed: ``out`` is taken, or the disk is
    full. WrongTopic when the topic is not there or not as it must be, Stalled when nothing comes any more.
    """
    began = time.monotonic()
    with GraphExport(out, formats, places=("partition", "offset")) as graph:
        with TopicAdmin(settings) as admin:
            partitions = admin.check([TOPIC])[TOPIC].partitions
            cluster, topic_id = admin.cluster_id(), admin.topic_ids([TOPIC])[TOPIC]
        with _Reader(settings, partitions, graph.table, progress) as reader:
            reader.catch_up()
            moment = reader.moment(wait_s)
            reader.read_to(moment.ends, beyond=False)
            records = reader.records
        source = {
            "topic": settings.topic(TOPIC),
            "topic_id": topic_id,
            "cluster": cluster,
            "offsets": {str(partition): end for partition, end in moment.ends.items()},
            "as_of": moment.at.isoformat(timespec="milliseconds"),
            "whole_transactions": moment.whole,
            "records": records,
            "seconds": round(time.monotonic() - began, 3),
        }
        return graph.finish(source, lambda count: progress("written", count, None))


class _Reader:
    """Reads all partitions of ``links`` into a table."""

    def __init__(self, settings: KafkaSettings, partitions: int, table: Newest, progress: Progress) -> None:
        self._settings, self._table, self._progress = settings, table, progress
        self._places = [TopicPartition(settings.topic(TOPIC), partition) for partition in range(partitions)]
        self.records = 0
        with ExitStack() as opened:
            self._consumer: Any = plain_consumer(settings)
            opened.callback(self._consumer.close)
            # Asked for ends only: these count what is not committed yet.
            self._watcher: Any = connect(settings, KafkaConsumer, isolation_level="read_uncommitted", enable_auto_commit=False)
            opened.callback(self._watcher.close)
            self._consumer.assign(self._places)
            self._consumer.seek_to_beginning()
            self._positions = self._asked(lambda: self._consumer.beginning_offsets(self._places))
            self._opened = opened.pop_all()
        self._first = sum(self._positions.values())

    def catch_up(self) -> None:
        """Reads until what is new is read within seconds, or does not become less."""
        took, ends = float("inf"), self._ends(self._consumer)
        while True:
            began, before = time.monotonic(), took
            self.read_to(ends, beyond=True)
            took, ends = time.monotonic() - began, self._ends(self._consumer)
            if took < _NEAR_S or took >= before:
                return

    def moment(self, wait_s: float) -> Moment:
        """Where the export ends; the next instant at which no transaction is open, or the last within ``wait_s``."""
        until = time.monotonic() + wait_s
        while True:
            stable = self._ends(self._consumer)
            at = datetime.now(UTC)
            whole = stable == self._ends(self._watcher)
            if whole or time.monotonic() >= until:
                return Moment(stable, whole, at)
            time.sleep(_ASK_AGAIN_S)

    def read_to(self, ends: Mapping[int, int], *, beyond: bool) -> None:
        """Reads all partitions up to ``ends``; what comes with it from beyond is taken as well, or left out."""
        moved = time.monotonic()
        while left := [place for place in self._places if self._positions[place] < ends[place.partition]]:
            self._consumer.pause(*(place for place in self._places if place not in left))
            self._consumer.resume(*left)
            polled = self._asked(lambda: self._consumer.poll(timeout_ms=500))
            for place, records in polled.items():
                for record in records:
                    if beyond or record.offset < ends[place.partition]:
                        self._table.put(record.key or b"", record.value, (record.partition, record.offset))
                        self.records += 1
            for place in left:
                position = int(self._asked(partial(self._consumer.position, place, timeout_ms=_CALL_MS)) or 0)
                if position > self._positions[place]:
                    self._positions[place], moved = position, time.monotonic()
            self._progress("read", sum(self._positions.values()) - self._first, sum(ends.values()) - self._first)
            if time.monotonic() - moved > _PATIENCE_S:
                raise Stalled(f"nothing came from {left[0]} for {_PATIENCE_S:g} s: look at the broker, then export again")

    def _ends(self, consumer: Any) -> dict[int, int]:
        ends = self._asked(lambda: consumer.end_offsets(self._places, timeout_ms=_CALL_MS))
        return {place.partition: int(ends[place]) for place in self._places}

    def _asked(self, ask: Callable[[], Any]) -> Any:
        return asked(self._settings, ask, "export again")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._opened.close()
