"""The index of a running linker or fallback: waits for it at the start, and reads its version before every batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from reflink.catalog import Catalog
from workers.config.engine import EngineSearchSettings
from workers.engine.candidates import EngineCandidates
from workers.engine.client import Engine
from workers.engine.errors import EngineError, EngineUnavailable, NotFound
from workers.engine.index import Index, Version, version
from workers.engine.origin import Origin, origin_of
from workers.errors import ServiceUnavailable
from workers.telemetry import metrics

log = logging.getLogger(__name__)

#: Interval of attempts and of log lines while a start waits for the index, in seconds.
_RETRY_S: Final = 1.0
_LOG_S: Final = 30.0
#: Minimum interval of reading the version between batches, in seconds.
_SEEN_S: Final = 0.25


class EngineSource:
    """Gives candidates at the index's present version. For use by one thread."""

    def __init__(self, settings: EngineSearchSettings, catalog: Catalog, engine: Engine | None = None) -> None:
        """``catalog`` has the records and keys; ``engine``: instead of a client of the settings. Raises BadSettings.

        Connects to no node.
        """
        self._settings, self._catalog = settings, catalog
        self._engine = engine or Engine(settings)
        #: The watermark that was read last: works below it are in the index.
        self.seen = 0
        self._next_look = 0.0
        #: The index whose format and origin were checked last, and the topic that it must be made from; None: any.
        self._checked: str | None = None
        self._origin: Origin | None = None

    def wait(self, sleep: Callable[[float], object] = time.sleep) -> None:
        """Wait until an index serves. Raises EngineRefused if it was made from another topic, now or later."""
        self._origin = origin_of(self._settings)
        next_log = time.monotonic()
        while True:
            try:
                found = self._version()
                log.info("index found", extra={"index": found.index, "offset": found.offset})
                return
            except (ServiceUnavailable, NotFound) as error:
                if time.monotonic() >= next_log:
                    next_log = time.monotonic() + _LOG_S
                    log.warning("waiting for the index of the search engine", extra={"detail": str(error)})
                sleep(_RETRY_S)

    def candidates(self, required: int = 0) -> EngineCandidates:
        """Return candidates at the present version of index and catalog.

        Raises EngineUnavailable if the engine does not answer, or if the index is older than the version ``required``.
        """
        try:
            found = self._version()
        except EngineError as error:  # whatever the engine rejects here, no reference of the batch is at fault
            raise EngineUnavailable(f"no index serves: {error}") from None
        if found.offset < required:
            raise EngineUnavailable(f"index {found.index} is at offset {found.offset}, a reference requires {required}")
        settings = self._settings
        return EngineCandidates(
            self._engine, self._catalog, found, hits=settings.engine_hits, wider_hits=settings.engine_wider_hits
        )

    def look(self) -> None:
        """Update ``seen``, at most a few times a second. An engine that does not answer leaves it unchanged."""
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _SEEN_S
            try:
                self._version()
            except (ServiceUnavailable, EngineError):
                self._next_look = time.monotonic() + self._settings.engine_timeout_s

    def close(self) -> None:
        """Close the connections."""
        self._engine.close()

    def _version(self) -> Version:
        found = version(self._engine, self._settings.engine_index)
        if found.index != self._checked:  # an index of another version of reflink may have taken over
            Index(self._engine, found.index).check(self._origin)
            self._checked = found.index
        self.seen = found.offset
        metrics.ENGINE_OFFSET.set(found.offset)
        return found
