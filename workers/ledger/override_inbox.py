"""Overrides on their way: heard, in force for every outcome that comes, and not yet compared with what is published."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from reflink.errors import BadRecord
from workers.ledger.override_reading import OverrideReader, override_of
from workers.ledger.settling import settle_override
from workers.ledger.store import PartitionStore
from workers.ledger.view import LedgerView
from workers.poison import dead_letter
from workers.settings import LedgerSettings
from workers.stage import Output, Received

log = logging.getLogger(__name__)

#: Overrides settled in one chore.
_SETTLED: Final = 50


@dataclass(frozen=True, slots=True)
class _Heard:
    """A record of ``overrides``; ``problem`` for one that holds none."""

    record: Received
    reference: str = ""
    problem: Exception | None = None


class OverrideInbox:
    """What is heard is written to the partition's store at once, but for its position: that moves on when it is settled.

    So after a crash it is heard and compared again, which changes nothing where it was done.
    """

    def __init__(self, settings: LedgerSettings, stores: Mapping[int, PartitionStore], worker: str) -> None:
        self._stores, self._worker = stores, worker
        self._reader = OverrideReader(settings)
        self._waiting: dict[int, deque[_Heard]] = {}

    def follow(self) -> None:
        """Follows the partitions that there are stores for, and no others any more."""
        for partition in set(self._waiting) - set(self._stores):
            del self._waiting[partition]
        positions = {partition: store.next_offset("overrides") for partition, store in self._stores.items()}
        for partition, queue in self._waiting.items():
            if queue:
                positions[partition] = queue[-1].record.offset + 1
        self._reader.assign(positions)

    def take(self) -> bool:
        """Hears what has come; whether there was anything."""
        found = self._reader.take()
        self.hear(found)
        return bool(found)

    def hear(self, records: Iterable[tuple[int, Received]]) -> None:
        """Takes records in: outcomes that come heed them from now on."""
        for partition, record in records:
            queue = self._waiting.setdefault(partition, deque())
            try:
                reference, override = override_of(record.key, record.value)
            except BadRecord as problem:
                log.warning("dead letter", extra={"record": record.place, "error": "BadRecord", "detail": str(problem)})
                queue.append(_Heard(record, problem=problem))
                continue
            value = None if override is None else record.value
            self._stores[partition].write([("overrides", reference, value)], {})
            queue.append(_Heard(record, reference))

    def settle(self, partition: int, view: LedgerView, output: Output) -> int:
        """Settles the next ones of a partition, and says how many; they stay until it is told that they are ``settled``."""
        waiting = list(islice(self._waiting.get(partition, ()), _SETTLED))
        done = set()
        for each in waiting:
            if each.problem is not None:
                output.messages.append(dead_letter(each.record, each.problem, self._worker))
                continue
            if each.reference in done:
                continue
            done.add(each.reference)
            with suppress(BadRecord):  # a row that only a newer version of this worker can read
                # As it is now: of several for one reference the last one counts.
                override = view.override(partition, each.reference, output)
                settle_override(partition, each.reference, override, view, output)
        return len(waiting)

    def settled(self, partition: int, number: int) -> int:
        """So many are committed; returns the next offset that the store's position becomes."""
        queue = self._waiting[partition]
        return [queue.popleft().record.offset for _ in range(number)][-1] + 1

    def close(self) -> None:
        """Lets go of the connection."""
        self._reader.close()
