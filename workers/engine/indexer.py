"""Bring the changes of the catalog topic into an index, in order of offset, and raise its watermark.

1. The indexer reads on at the watermark, so nothing is lost if it is killed; what it writes twice changes nothing.
2. Changes become visible together with the watermark: at once while none wait, otherwise every ``index_backlog_s``, because a
   refresh of an index that is being filled costs more than the works in it.
3. A newer document shows that another indexer is ahead, whose write some copies may still lack. This one then leaves the
   watermark to the other for a minute: by then the write is everywhere, or its copy is out of sync.
4. After an error of the engine ``step`` can be called again: it begins with what may not have been written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from reflink.entities import Work
from workers.catalog.topic_reader import CatalogReader
from workers.config.indexer import IndexerSettings
from workers.engine.index import Index, version
from workers.telemetry import metrics

log = logging.getLogger(__name__)

#: How long the broker may wait for about 50 works.
_LINGER_MS: Final = 100
_LOGGED: Final = 20
_HELD_S: Final = 60.0


class Indexer:
    """Follows the topic ``catalog`` into one index from the index's watermark on. For use by one thread."""

    def __init__(
        self, settings: IndexerSettings, index: Index, offset: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``clock`` returns seconds."""
        self._settings, self.index, self._clock = settings, index, clock
        #: The watermark of the index.
        self.offset = offset
        self._reader = CatalogReader(settings, offset, linger_ms=_LINGER_MS)
        #: Changes that were read and may not be written, and the offset after them.
        self._waiting: list[tuple[int, Work | str]] = []
        self._read = self._written = offset
        self._shown_at = self._held_until = clock() - settings.index_backlog_s

    def start(self) -> int:
        """Start to read. Return the end of the topic."""
        return self._reader.start()

    @property
    def lag(self) -> int:
        """Number of offsets between the watermark and the last known end of the topic."""
        return max(0, self._reader.end - self.offset)

    def step(self) -> bool:
        """Write the next changes, and raise the watermark if it is time. Return whether there was something to do.

        Raises EngineUnavailable, NotFound if the index was deleted, and the error that ended the reading thread.
        """
        self._take()
        if self._waiting:
            self._report(self.index.apply(self._waiting))
            self._waiting.clear()
            if self.index.conflicts:
                self.index.conflicts, self._held_until = False, self._clock() + _HELD_S
        self._written = self._read
        backlog = self._reader.end - self._written > self._settings.index_works
        due = not backlog or self._clock() - self._shown_at >= self._settings.index_backlog_s
        if self._clock() < self._held_until:
            due, self.offset = False, max(self.offset, version(self.index.engine, self.index.name).offset)
        shown = self._written > self.offset and due
        if shown:
            self.index.publish(self._written)
            self.offset, self._shown_at = self._written, self._clock()
        metrics.ENGINE_OFFSET.set(self.offset)
        metrics.CATALOG_OFFSET.set(self.offset)
        metrics.CATALOG_LAG.set(self.lag)
        return shown or (self._written > self.offset and due)

    def close(self) -> None:
        """Stop reading."""
        self._reader.close()

    def _take(self) -> None:
        while len(self._waiting) < self._settings.index_works and (changes := self._reader.take()) is not None:
            self._waiting += [(offset, change) for offset, _, change in changes.records]
            self._read = changes.offset

    def _report(self, refused: list[tuple[str, str]]) -> None:
        """Count works that the engine refuses: identifiers and locators still find them."""
        metrics.ENGINE_REFUSED.inc(len(refused))
        for work_id, reason in refused[:_LOGGED]:
            log.error("the search engine refuses a work", extra={"work": work_id[:200], "detail": reason})
