"""Following ``overrides`` beside the group: the partitions of the ledger's own, from what their stores say."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from reflink.errors import BadRecord
from schemas import OverrideEvent
from workers.clients import REFUSALS, UNREADABLE, plain_consumer, received, refused, unreadable
from workers.settings import LedgerSettings
from workers.stage import Received

log = logging.getLogger(__name__)


#: Bytes of an override: with a large outcome it must still fit into a record of links and of retries.
LARGEST: Final = 16_000


class OverrideReader:
    """Used by one thread. ``assign`` says what is followed, ``take`` never waits for records."""

    def __init__(self, settings: LedgerSettings) -> None:
        self.settings = settings
        self._consumer: KafkaConsumer | None = None

    def assign(self, positions: Mapping[int, int]) -> None:
        """These partitions from now on, from these offsets; no others any more."""
        if self._consumer is None:
            self._consumer = plain_consumer(self.settings)
        places = {TopicPartition(self.settings.topic("overrides"), partition): at for partition, at in positions.items()}
        self._consumer.assign(list(places))
        for place, offset in places.items():
            self._consumer.seek(place, offset)

    def take(self) -> list[tuple[int, Received]]:
        """What has come, by partition, in order. Raises WorkerError when the broker refuses."""
        if self._consumer is None or not self._consumer.assignment():
            return []
        try:
            polled = self._consumer.poll(timeout_ms=0)
        except REFUSALS as error:
            raise refused(error, self.settings) from None
        except UNREADABLE as error:
            raise unreadable(error) from None
        except KafkaError as error:
            log.warning("reading overrides failed, trying again", extra={"reason": type(error).__name__})
            return []
        return [(place.partition, received("overrides", record)) for place, records in polled.items() for record in records]

    def close(self) -> None:
        """Lets go of the connection."""
        if self._consumer is not None:
            self._consumer.close()


def override_of(key: bytes | None, value: bytes | None) -> tuple[str, OverrideEvent | None]:
    """The reference and what is said of it, None where that is lifted. Raises BadRecord."""
    try:
        reference = (key or b"").decode()
    except UnicodeDecodeError:
        raise BadRecord(f"override: its key {key!r} is not UTF-8") from None
    if not reference:
        raise BadRecord("override: its key must be a reference's id, and there is none")
    if value is None:
        return reference, None
    if len(value) > LARGEST:
        raise BadRecord(f"override: it has {len(value):,} bytes, and {LARGEST:,} are the most: shorten its reason or its works")
    override = OverrideEvent.from_json(value)
    if override.reference != reference:
        raise BadRecord(f"override: its key is {reference!r} and its reference {override.reference!r}")
    return reference, override
