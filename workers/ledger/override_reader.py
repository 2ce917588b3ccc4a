"""Reader of ``overrides`` without a consumer group: it follows the ledger's partitions from the offsets in their stores."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from kafka.errors import KafkaError

from reflink.errors import BadRecord
from schemas import OverrideEvent
from workers.config.settings import LedgerSettings
from workers.kafka.clients import received
from workers.kafka.partition_reader import PartitionReader
from workers.kafka.topics import partition_of
from workers.records import Received

log = logging.getLogger(__name__)


#: Maximum bytes of an override: together with a large outcome it must fit into a record of ``links`` and of ``retries``.
MAX_BYTES: Final = 16_000


class OverrideReader:
    """Reader for use by one thread. ``assign`` sets the partitions; ``take`` never waits for records."""

    def __init__(self, settings: LedgerSettings) -> None:
        self.settings = settings
        self._reader: PartitionReader | None = None

    def assign(self, positions: Mapping[int, int]) -> None:
        """Follow these partitions from these offsets, and no others."""
        starts = {("overrides", partition): at for partition, at in positions.items()}
        if self._reader is None:
            self._reader = PartitionReader(self.settings, starts)
        else:
            self._reader.assign(starts)

    def take(self) -> list[tuple[int, Received]]:
        """Return new records with their partitions, each partition in order. Raises WorkerError if the broker refuses."""
        if self._reader is None or not self._reader.next_offsets:
            return []
        try:
            polled = self._reader.poll(0)
        except KafkaError as error:
            log.warning("reading overrides failed, trying again", extra={"reason": type(error).__name__})
            return []
        return [(partition, received("overrides", record)) for (_, partition), records in polled.items() for record in records]

    def close(self) -> None:
        """Close the connection."""
        if self._reader is not None:
            self._reader.close()


def override_of(key: bytes | None, value: bytes | None, partition: int, partitions: int) -> tuple[str, OverrideEvent | None]:
    """Return a reference id and its override, which is None if it is lifted. Raises BadRecord.

    ``partition``: where the record was read, out of ``partitions``. An override in a partition other than its paper's is
    refused, because the ledger of that partition could not apply it. A tombstone is accepted in any partition: it removes a
    refused record.
    """
    try:
        reference = (key or b"").decode()
    except UnicodeDecodeError:
        raise BadRecord(f"override: its key {key!r} is not UTF-8") from None
    if not reference:
        raise BadRecord("override: its key must be a reference's id, and there is none")
    if value is None:
        return reference, None
    if len(value) > MAX_BYTES:
        raise BadRecord(f"override: it has {len(value):,} bytes, the limit is {MAX_BYTES:,}: shorten its reason or its works")
    override = OverrideEvent.from_json(value)
    if override.reference != reference:
        raise BadRecord(f"override: its key is {reference!r} and its reference {override.reference!r}")
    if (home := partition_of(override.citing.encode(), partitions)) != partition:
        raise BadRecord(
            f"override: it is in partition {partition}, and {override.citing!r} is in partition {home}: partition by "
            "the paper's id, not by the key"
        )
    return reference, override
