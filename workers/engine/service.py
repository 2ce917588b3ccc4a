"""The indexer as a process: it opens or makes the index, follows the topic, and goes on after every outage."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from reflink.catalog import Catalog
from workers.catalog.snapshot_opening import open_catalog
from workers.config.indexer import IndexerSettings
from workers.engine.client import Engine
from workers.engine.errors import EngineError, NotFound
from workers.engine.filling import fill
from workers.engine.index import Index, names, unfinished, version
from workers.engine.indexer import Indexer
from workers.engine.origin import Origin, origin_of
from workers.errors import ServiceUnavailable
from workers.kafka.topics import TopicAdmin
from workers.telemetry import metrics
from workers.telemetry.http_server import HealthServer
from workers.telemetry.outage import Outage

log = logging.getLogger(__name__)

_IDLE_S: Final = 0.05
#: Interval of checks that the alias still names this index.
_CHECK_S: Final = 5.0
#: Interval of log lines while an index is filled.
_LOG_S: Final = 30.0


class IndexerService:
    """Keeps the index behind the alias up to date until ``stop`` is called.

    If no index serves, it makes one, from the snapshot of the settings or from the beginning of the topic, and lets it serve
    when it has all records that the topic had at the start. ``rebuild``: make another index beside the serving one, let it take
    over, delete the former one and return.
    """

    def __init__(
        self,
        settings: IndexerSettings,
        *,
        rebuild: bool = False,
        engine: Engine | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``engine``: instead of a client of the settings. ``clock`` returns seconds."""
        self.settings, self._rebuild, self._clock = settings, rebuild, clock
        self._engine, self._outage = engine or Engine(settings), Outage()
        self._stopping = threading.Event()
        self._indexer: Indexer | None = None
        #: Whether the alias names this indexer's index.
        self.serving = False
        self._next_check = self._next_log = 0.0

    def stop(self, *_: object) -> None:
        """End ``run`` after the present step. A signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Run until ``stop``, or until a rebuilt index has taken over. Raises WorkerError."""
        with TopicAdmin(self.settings) as admin:
            admin.check(["catalog"])
        try:
            while not self._stopping.is_set() and not (self._rebuild and self.serving):
                self._stopping.wait(self.turn())
        finally:
            self._leave()
            self._engine.close()

    def run_until_signalled(self) -> None:
        """Run with the server for metrics and health; SIGTERM and SIGINT stop it. Call from the main thread only."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)
        settings = self.settings
        metrics.START_TIME.set(time.time())
        health = HealthServer(settings.http_host, settings.http_port, live=self._live, ready=self._ready)
        health.start()
        try:
            self.run()
        finally:
            metrics.READY.set(0)
            health.stop()

    def turn(self) -> float:
        """Open the index, or write the next changes and let the index serve. Return the seconds to wait before the next turn.

        Raises WorkerError, but none for an engine that does not answer.
        """
        try:
            if self._indexer is None:
                self._indexer = self._open()
                return 0.0
            busy = self._indexer.step()
            self._outage.over()
            self._serve(self._indexer)
        except ServiceUnavailable as error:
            return self._outage.failed(error)
        except NotFound as error:
            log.warning("the index is gone", extra={"detail": str(error)})
            self._leave()
            return 1.0
        return 0.0 if busy else _IDLE_S

    def _open(self) -> Indexer | None:
        """Return an indexer of the serving index, of an unfinished one, or of a new one."""
        settings, engine, alias = self.settings, self._engine, self.settings.engine_index
        origin = self.origin()
        serving = names(engine, alias)
        if serving and not self._rebuild:
            index = Index(engine, serving[0])
            index.check(origin)
        else:
            index = unfinished(engine, alias, origin) or Index.create(
                engine, alias, origin, shards=settings.engine_shards, replicas=settings.engine_replicas
            )
        offset = version(engine, index.name).offset
        log.info("index opened", extra={"index": index.name, "offset": offset, "serving": index.name in serving})
        if offset == 0 and settings.catalog_snapshot is not None:
            catalog = open_catalog(settings, vectors=False, trigrams=False, empty=Catalog.empty(lexical_mode=None))
            if catalog.offset and not fill(index, catalog, settings, lambda: not self._stopping.is_set(), self._show):
                return None
            offset = catalog.offset
        indexer = self.follow(index, offset)
        self._end = indexer.start()
        self.serving = index.name in serving
        return indexer

    def origin(self) -> Origin:
        """Return the catalog topic. Raises WorkerError."""
        return origin_of(self.settings)

    def follow(self, index: Index, offset: int) -> Indexer:
        """Return an indexer that brings the topic from ``offset`` on into the index. It does not read yet."""
        return Indexer(self.settings, index, offset, self._clock)

    def _serve(self, indexer: Indexer) -> None:
        """Let the index serve when it has caught up; leave it if another one serves."""
        alias = self.settings.engine_index
        if not self.serving:
            if indexer.offset < self._end:
                return
            if (served := self._served()) > indexer.offset:  # fallback events may require what the former index has
                self._end = served
                return
            formers = indexer.index.serve(alias)
            self.serving = True
            log.info("the index serves", extra={"index": indexer.index.name, "offset": indexer.offset})
            for former in formers:
                log.info("the former index is deleted", extra={"index": former})
                Index(self._engine, former).delete()
        elif self._clock() >= self._next_check:
            self._next_check = self._clock() + _CHECK_S
            if names(self._engine, alias) != [indexer.index.name]:
                log.warning("another index serves", extra={"former": indexer.index.name})
                self._leave()
        metrics.READY.set(self.serving)

    def _served(self) -> int:
        """Return the watermark of the index that serves; 0 without one."""
        try:
            return version(self._engine, self.settings.engine_index).offset
        except EngineError:
            return 0

    def _leave(self) -> None:
        if self._indexer is not None:
            self._indexer.close()
        self._indexer, self.serving = None, False

    def _show(self, works: int) -> None:
        if self._clock() >= self._next_log:
            self._next_log = self._clock() + _LOG_S
            log.info("filling the index", extra={"works": works})

    def _live(self) -> tuple[bool, dict[str, Any]]:
        return True, {"worker": "indexer"}

    def _ready(self) -> tuple[bool, dict[str, Any]]:
        offset = None if self._indexer is None else self._indexer.offset
        return self.serving, {"worker": "indexer", "offset": offset}
