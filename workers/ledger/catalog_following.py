"""Following of the catalog topic by a ledger: it fills the log of changes, and forgets changes that no partition needs.

The log holds at least the last WINDOW offsets, so that most outcomes can be compared with the changes since they were decided,
and all changes that a partition has not propagated. It never grows far beyond: if propagation is further behind, reading waits,
and the topic itself is the log.
"""

from __future__ import annotations

import time
from typing import Final

from workers.catalog.topic_reader import CatalogReader
from workers.config.settings import LedgerSettings
from workers.errors import Stalled
from workers.kafka.clients import end_of
from workers.ledger.stores.change_log import ChangeLog
from workers.telemetry import metrics

#: Offsets of the catalog topic that the log holds behind its end. An outcome that was decided before them is re-evaluated.
WINDOW: Final = 2_000_000
#: How long the broker may wait for more works. A long wait delays re-evaluations; a short one has a higher cost per work,
#: because propagating few works costs as much as propagating many, and so does the transaction that follows.
_LINGER_MS: Final = 200


class CatalogFollowing:
    """Follows the catalog topic from the offset of ``log``."""

    def __init__(self, settings: LedgerSettings, log: ChangeLog, window: int = WINDOW) -> None:
        self._settings, self._log, self._window = settings, log, window
        self._reader: CatalogReader | None = None

    def start(self) -> None:
        """Read the topic to its end; a new log only the end of the topic. Raises Stalled."""
        if self._log.is_new and (start := end_of(self._settings, "catalog") - self._window) > 0:
            self._log.begin(start)
        self.open()
        end, moved = self._log.end, time.monotonic()
        while self._log.offset < end:
            if self.follow(1.0, self._log.offset):
                moved = time.monotonic()
            elif time.monotonic() - moved > self._settings.call_deadline_s:
                raise Stalled(
                    f"the catalog topic cannot be read: no record after offset {self._log.offset} arrived within "
                    f"{self._settings.call_deadline_s:g} s, and it ends at {end}"
                )
            else:
                time.sleep(0.01)

    def open(self) -> None:
        """Continue at the offset of the log, also if the log began anew."""
        if self._reader is not None:
            self._reader.close()
        self._reader = CatalogReader(self._settings, self._log.offset, linger_ms=_LINGER_MS)
        self._log.end = max(self._log.end, self._reader.start())

    def update_end(self) -> None:
        """Ask the broker for the end of the topic: other ledgers, and the linkers, may have read further than this one."""
        self._log.end = max(self._log.end, end_of(self._settings, "catalog"))

    def follow(self, seconds: float, propagated: int) -> bool:
        """Add new changes, for about ``seconds`` at most. Return whether there were any.

        ``propagated``: the lowest position of change propagation of all partitions.
        """
        assert self._reader is not None
        until, log, changed = time.monotonic() + seconds, self._log, False
        while log.offset - propagated <= self._window and (changes := self._reader.take()) is not None:
            changed = True
            log.apply(changes.records, changes.offset)
            if time.monotonic() >= until:
                break
            log.trim(min(propagated, log.offset - self._window))
        log.trim(min(propagated, log.offset - self._window))
        log.end = max(log.end, self._reader.end)
        metrics.CATALOG_OFFSET.set(log.offset)
        metrics.CATALOG_LAG.set(log.end - log.offset)
        return changed

    def close(self) -> None:
        """Stop reading, and close the log."""
        if self._reader is not None:
            self._reader.close()
        self._log.close()
