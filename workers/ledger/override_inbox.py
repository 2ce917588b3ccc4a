"""Inbox of overrides: they apply to every new outcome on arrival, and wait until published outcomes are compared with them.

Comparing the published outcome of a reference with its override is called settling (override_settling.py).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from reflink.errors import BadRecord
from workers.config.settings import LedgerSettings
from workers.dead_letter import dead_letter
from workers.ledger.override_reader import OverrideReader, override_of
from workers.ledger.override_settling import settle_override
from workers.ledger.stores.outcome_store import PartitionStore
from workers.ledger.transaction import LedgerTransaction
from workers.records import Received

log = logging.getLogger(__name__)

#: Limit of overrides settled in one background task.
_SETTLED: Final = 50
#: Size of the waiting overrides above which no more are read.
_MAX_BYTES: Final = 16_000_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Record of ``overrides``. ``problem`` is set if it is invalid."""

    record: Received
    reference: str = ""
    problem: Exception | None = None

    @property
    def bytes(self) -> int:
        """Return the approximate size in memory."""
        return len(self.record.value or b"") + 200


class OverrideInbox:
    """Overrides that wait to be settled, by partition.

    An override is written to the partition's store on arrival, but the store's position in the topic advances only when the
    override is settled. After a crash the override is therefore read and settled again, which is idempotent.
    """

    def __init__(self, settings: LedgerSettings, stores: Mapping[int, PartitionStore], worker: str) -> None:
        self._stores, self._worker = stores, worker
        #: Number of partitions of the topic.
        self.partitions = 1
        self._reader = OverrideReader(settings)
        self._waiting: dict[int, deque[_Waiting]] = {}

    def follow(self) -> None:
        """Follow exactly the partitions that have a store."""
        for partition in set(self._waiting) - set(self._stores):
            del self._waiting[partition]
        positions = {partition: store.next_offset("overrides") for partition, store in self._stores.items()}
        for partition, queue in self._waiting.items():
            if queue:
                positions[partition] = queue[-1].record.offset + 1
        self._reader.assign(positions)

    def take(self) -> bool:
        """Read new overrides. Return whether there were any."""
        if sum(each.bytes for queue in self._waiting.values() for each in queue) > _MAX_BYTES:
            return False
        found = self._reader.take()
        self.add(found)
        return bool(found)

    def add(self, records: Iterable[tuple[int, Received]]) -> None:
        """Add records. Valid overrides apply to all outcomes that arrive from now on."""
        for partition, record in records:
            queue = self._waiting.setdefault(partition, deque())
            try:
                reference, override = override_of(record.key, record.value, partition, self.partitions)
            except BadRecord as problem:
                log.warning("dead letter", extra={"record": record.address, "error": "BadRecord", "detail": str(problem)})
                queue.append(_Waiting(record, problem=problem))
                continue
            value = None if override is None else record.value
            self._stores[partition].write([("overrides", reference, value)], {})
            queue.append(_Waiting(record, reference))

    def settle(self, ledger: LedgerTransaction) -> int:
        """Settle the next overrides of the partition. Return their number; they stay in the inbox until ``settled``."""
        waiting = list(islice(self._waiting.get(ledger.partition, ()), _SETTLED))
        output = ledger.output
        done = set()
        for each in waiting:
            if each.problem is not None:
                output.messages.append(dead_letter(each.record, each.problem, self._worker))
                output.observed.dead_letters[each.record.topic, type(each.problem).__name__] += 1
                continue
            if each.reference in done:
                continue
            done.add(each.reference)
            with suppress(BadRecord):  # only a newer version of this worker can read the row
                settle_override(each.reference, ledger)  # by the current override: the last of several counts
        return len(waiting)

    def settled(self, partition: int, number: int) -> int:
        """Remove the first ``number`` overrides, now committed. Return the store's next offset in ``overrides``."""
        queue = self._waiting[partition]
        return [queue.popleft().record.offset for _ in range(number)][-1] + 1

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()
