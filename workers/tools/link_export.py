"""Export of the graph to files: the newest record of each reference in the topic ``links``, as of one moment.

Invariant: the export holds every reference of its moment. If the moment is ``whole``, each transaction of the ledger is in it
with all its links or with none.

1. The export reads the whole topic, then chooses the moment, then reads the records written in between, within seconds. If it
   chose the moment first, compaction could remove a record in favour of one after the moment, and a reference would be missing.
2. The export requests the last stable offsets of all partitions, then the high watermarks, which ignore transactions. If both
   are equal in all partitions, no transaction was open at some instant between the two requests, because offsets only grow.
3. A ledger sends all links of a transaction, and the broker acknowledges them, before the first partition receives the commit.
   So a transaction with a link before these offsets has all its links before them.

4. The parser commits the contexts of a reference before the ledger can publish its link, so contexts that are read after the
   moment was chosen include those of every link.

Cost: one read of each topic. The tables of links and contexts are on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from reflink.graph import CONTEXTS
from reflink.graph.export import GraphExport
from reflink.graph.newest import Newest
from workers.config.settings import KafkaSettings
from workers.kafka.partition_reader import PartitionReader
from workers.kafka.range_reader import Range
from workers.kafka.topics import TopicAdmin
from workers.records import Partition

TOPIC: Final = "links"
Phase = Literal["read", "written"]
#: Called with the phase, its progress (offsets read, then references written) and the total, None if unknown.
Progress = Callable[[Phase, int, int | None], object]
Ends = Mapping[Partition, int]

#: Reading has caught up when a pass over the new records takes less than this, in seconds.
_NEAR_S: Final = 5.0
_RETRY_S: Final = 0.02
_TAKEN: Final = 2000


@dataclass(frozen=True)
class Moment:
    """The first offset of each partition that is not in the export. ``whole``: no transaction was open at that moment.

    If not ``whole``, the export may contain transactions that were being committed with the links of some partitions only. A
    paper's links are in one partition, so a transaction's links of one paper are never split.
    """

    ends: Mapping[int, int]
    whole: bool
    at: datetime


def export(
    settings: KafkaSettings, out: Path, formats: Sequence[str], *, wait_s: float = 10.0, progress: Progress = lambda *_: None
) -> dict[str, Any]:
    """Write the current links to the folder ``out``. Return the manifest, which is also in the folder.

    Waits at most ``wait_s`` for a moment without open transactions. Raises ExportFailed if ``out`` exists or the disk is full,
    WrongTopic if the topic is missing or misconfigured, and Stalled if no more records arrive.
    """
    began = time.monotonic()
    with GraphExport(out, formats, places=("partition", "offset")) as graph:
        with TopicAdmin(settings) as admin:
            topics, cluster = admin.check([TOPIC] if graph.contexts is None else [TOPIC, CONTEXTS]), admin.cluster_id()
            found = topics[TOPIC]
            partitions = range(found.partitions)
        places = dict.fromkeys((TOPIC, partition) for partition in partitions)
        with (
            Range(settings, TOPIC, partitions) as links,
            # Used only for the ends, which include uncommitted records.
            PartitionReader(settings, places, again="run it again", isolation_level="read_uncommitted") as uncommitted,
        ):
            records = _catch_up(links, graph.table, progress)
            moment = next_moment(links.end_offsets, uncommitted.end_offsets, wait_s)
            links.extend(moment.ends)
            records += _read(links, graph.table, progress)
        if graph.contexts is not None:
            with Range(settings, CONTEXTS, range(topics[CONTEXTS].partitions)) as contexts:
                _read(contexts, graph.contexts, progress)
        source = {
            "topic": settings.topic(TOPIC),
            "topic_id": found.topic_id,
            "cluster": cluster,
            "offsets": {str(partition): end for partition, end in moment.ends.items()},
            "as_of": moment.at.isoformat(timespec="milliseconds"),
            "whole_transactions": moment.whole,
            "records": records,
            "seconds": round(time.monotonic() - began, 3),
        }
        return graph.finish(source, lambda count: progress("written", count, None))


def next_moment(stable: Callable[[], Ends], latest: Callable[[], Ends], wait_s: float) -> Moment:
    """Return the next moment without open transactions; if there is none within ``wait_s``, the last one observed.

    ``stable`` returns the last stable offset of each partition, ``latest`` the high watermark.
    """
    until = time.monotonic() + wait_s
    while True:
        ends = stable()
        at = datetime.now(UTC)
        whole = ends == latest()
        if whole or time.monotonic() >= until:
            return Moment({partition: end for (_, partition), end in ends.items()}, whole, at)
        time.sleep(_RETRY_S)


def _catch_up(links: Range, table: Newest, progress: Progress) -> int:
    """Read until a pass over the new records takes only seconds, or takes no less time than the previous pass."""
    took, records = float("inf"), 0
    while True:
        began, before = time.monotonic(), took
        records += _read(links, table, progress)
        took = time.monotonic() - began
        if took < _NEAR_S or took >= before:
            return records
        links.extend({partition: end for (_, partition), end in links.end_offsets().items()})


def _read(links: Range, table: Newest, progress: Progress) -> int:
    """Put all records up to the ends into the table. Return their number."""
    records = 0
    while not links.done:
        for record in links.take(_TAKEN):
            table.put(record.key or b"", record.value, (record.partition, record.offset))
            records += 1
        progress("read", *links.progress)
    return records
