"""Following the topic ``absence``: the ledgers' tallies and the shares of absent works in use."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any, Final

from kafka.errors import KafkaError

from reflink.errors import BadRecord
from reflink.linking.shares import Shares, Tally
from schemas.absence import SharesEvent, read_absence
from workers.config.settings import WorkerSettings
from workers.errors import Stalled
from workers.kafka.partition_reader import PartitionReader
from workers.records import Partition
from workers.telemetry import metrics

log = logging.getLogger(__name__)

_ABSENCE: Final[Partition] = ("absence", 0)
_EVERY_S: Final = 1.0
#: Name of all sources together in the metrics.
ALL: Final = "all"


class AbsenceFollower:
    """A reader of the topic without a group, for use by one thread. It skips invalid records with a log line.

    ``shares``: those in use. ``tallies``: the last tally of each partition of ``outcomes``. ``version``: the number of records.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self.shares, self.version = Shares(), 0
        self.tallies: dict[int, Tally] = {}
        self._reader: PartitionReader | None = None
        self._next = 0.0

    def start(self) -> None:
        """Read the topic to its end. Raises Stalled and the errors of a broker that refuses."""
        reader = self._reader = PartitionReader(self._settings, {_ABSENCE: None})
        end = reader.end_offsets()[_ABSENCE]
        deadline = time.monotonic() + self._settings.call_deadline_s
        while reader.next_offsets[_ABSENCE] < end:
            self.apply(reader.poll(0.2).get(_ABSENCE, ()))
            if time.monotonic() > deadline:
                topic = self._settings.topic("absence")
                raise Stalled(f"{topic} cannot be read to its end, offset {end}, within {self._settings.call_deadline_s:g} s")
        show(self.shares, self.tallies.values())

    def follow(self) -> bool:
        """Apply new records, at most once a second. Return whether there were any."""
        if self._reader is None or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + _EVERY_S
        try:
            records = self._reader.poll(0).get(_ABSENCE, ())
        except KafkaError as error:
            log.warning("reading the shares of absent works failed, trying again", extra={"reason": type(error).__name__})
            return False
        self.apply(records)
        if records:
            show(self.shares, self.tallies.values())
        return bool(records)

    def apply(self, records: Iterable[Any]) -> None:
        """Apply records (with ``key``, ``value`` and ``offset``) in order. A tombstone removes nothing."""
        for record in records:
            self.version += 1
            if record.value is None:
                continue
            try:
                event = read_absence(record.key, record.value)
            except BadRecord as error:
                log.warning("skipped a record of absence", extra={"offset": record.offset, "detail": str(error)})
                continue
            if isinstance(event, SharesEvent):
                self.shares = Shares(event.overall, {each.source: each.absent for each in event.sources})
            else:
                partition, tally = event
                self.tallies[partition] = Tally.from_dict({each.source: (each.weight, each.absent) for each in tally.seen})

    def merged(self) -> Tally:
        """Return what all partitions together have seen."""
        whole = Tally()
        whole.merge(self.tallies.values())
        return whole

    def close(self) -> None:
        """Close the connection."""
        if self._reader is not None:
            self._reader.close()


def show_fixed(share: float) -> None:
    """Set the metric of the share in use to a share that does not come from the topic."""
    metrics.ABSENT_SHARE.clear()
    metrics.ABSENT_SHARE.labels(ALL).set(share)


def show(shares: Shares, tallies: Iterable[Tally]) -> None:
    """Set the metrics: the shares in use, the estimates, and the references behind them, of all and of each listed source."""
    whole = Tally()
    whole.merge(tallies)
    gauges = (metrics.ABSENT_SHARE, metrics.ABSENT_ESTIMATE, metrics.ABSENT_REFERENCES)
    for gauge in gauges:
        gauge.clear()
    rows = [(ALL, shares.overall, whole.share_of(), whole.all().weight)]
    rows += [
        (name, share, whole.share_of(name), whole.sources[name].weight if name in whole.sources else 0.0)
        for name, share in shares.sources.items()
    ]
    for name, *values in rows:
        for gauge, value in zip(gauges, values, strict=True):
            gauge.labels(name).set(value)
