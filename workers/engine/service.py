"""The indexer as a process: it opens or makes the index, follows the topic, and goes on after every outage."""

from __future__ import annotations

import logging
import signal
import threading
import time
from typing import Any, Final

from reflink.catalog import Catalog
from workers.catalog.snapshot_opening import open_catalog
from workers.config.indexer import IndexerSettings
from workers.engine.client import Engine
from workers.engine.errors import NotFound
from workers.engine.filling import fill
from workers.engine.index import Index, names, unfinished, version
from workers.engine.indexer import Indexer
from workers.engine.origin import origin_of
from workers.errors import ServiceUnavailable
from workers.kafka.topics import TopicAdmin
from workers.telemetry import metrics
from workers.telemetry.http_server import HealthServer
from workers.telemetry.outage import Outage

log = logging.getLogger(__name__)

_IDLE_S: Final = 0.05
#: Interval of checks that the alias still names this index.
_CHECK_S: Final = 5.0


class IndexerService:
    """Keeps the index behind the alias up to date until ``stop`` is called.

    If no index serves, it makes one, from the snapshot of the settings or from the beginning of the topic, and lets it serve
    when it has all records that the topic had at the start. ``rebuild``: make another index beside the serving one, let it take
    over, delete the former one and return.
    """

    def __init__(self, settings: IndexerSettings, *, rebuild: bool = False) -> None:
        self.settings, self._rebuild = settings, rebuild
        self._engine, self._outage = Engine(settings), Outage()
        self._stopping = threading.Event()
        self._indexer: Indexer | None = None
        self._serving = False
        self._next_check = 0.0

    def stop(self, *_: object) -> None:
        """End ``run`` after the present step. A signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Run until ``stop``, or until a rebuilt index has taken over. Raises WorkerError."""
        with TopicAdmin(self.settings) as admin:
            admin.check(["catalog"])
        try:
            while not self._stopping.is_set() and not (self._rebuild and self._serving):
                self._turn()
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

    def _turn(self) -> None:
        try:
            if self._indexer is None:
                self._indexer = self._open()
                return
            busy = self._indexer.step()
            self._outage.over()
            self._serve(self._indexer)
            if not busy:
                self._stopping.wait(_IDLE_S)
        except ServiceUnavailable as error:
            self._stopping.wait(self._outage.failed(error))
        except NotFound as error:
            log.warning("the index is gone", extra={"detail": str(error)})
            self._leave()
            self._stopping.wait(1.0)

    def _open(self) -> Indexer | None:
        """Return an indexer of the serving index, of an unfinished one, or of a new one."""
        settings, engine, alias = self.settings, self._engine, self.settings.engine_index
        origin = origin_of(settings)
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
        indexer = Indexer(settings, index, offset)
        self._end = indexer.start()
        self._serving = index.name in serving
        return indexer

    def _serve(self, indexer: Indexer) -> None:
        """Let the index serve when it has caught up; leave it if another one serves."""
        alias = self.settings.engine_index
        if not self._serving:
            if indexer.offset < self._end:
                return
            for former in indexer.index.serve(alias):
                log.info("the former index is deleted", extra={"index": former})
                Index(self._engine, former).delete()
            log.info("the index serves", extra={"index": indexer.index.name, "offset": indexer.offset})
            self._serving = True
        elif time.monotonic() >= self._next_check:
            self._next_check = time.monotonic() + _CHECK_S
            if names(self._engine, alias) != [indexer.index.name]:
                log.warning("another index serves", extra={"former": indexer.index.name})
                self._leave()
        metrics.READY.set(self._serving)

    def _leave(self) -> None:
        if self._indexer is not None:
            self._indexer.close()
        self._indexer, self._serving = None, False

    def _show(self, works: int) -> None:
        log.info("filling the index", extra={"works": works})

    def _live(self) -> tuple[bool, dict[str, Any]]:
        return True, {"worker": "indexer"}

    def _ready(self) -> tuple[bool, dict[str, Any]]:
        offset = None if self._indexer is None else self._indexer.offset
        return self._serving, {"worker": "indexer", "offset": offset}
