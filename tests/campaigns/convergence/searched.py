"""Candidates from a search engine in memory: real indexers that lag, are killed and lose their index, and real sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reflink.catalog import Catalog
from tests.campaigns.convergence.engine import Killed, MemoryEngine
from tests.campaigns.convergence.replicas import CATALOG, change_of_record
from tests.campaigns.convergence.topics import Topics
from workers.catalog.topic_reader import CatalogChanges
from workers.config.engine import EngineSearchSettings
from workers.config.indexer import IndexerSettings
from workers.engine.errors import EngineError, EngineUnavailable
from workers.engine.index import Index, Version, version
from workers.engine.indexer import Indexer
from workers.engine.origin import Origin
from workers.engine.service import IndexerService
from workers.engine.source import EngineSource

_URLS: Final = "http://nowhere:1"
_INDEXER: Final = IndexerSettings(engine_urls=_URLS)
_ALIAS: Final = _INDEXER.engine_index


class Reader:
    """Reads the catalog topic in memory in place of ``CatalogReader``. ``limit``: records that may still be read; None: all."""

    def __init__(self, topics: Topics, position: int) -> None:
        self._topics, self._position = topics, position
        self.limit: int | None = 0

    @property
    def end(self) -> int:
        """The end of the topic."""
        return self._topics.end(CATALOG)

    def start(self) -> int:
        """Return the end of the topic."""
        return self.end

    def take(self) -> CatalogChanges | None:
        """Return the next changes within the limit."""
        if self._position >= self.end or self.limit == 0:
            return None
        records = self._topics.read(CATALOG, self._position, self.limit)
        whole = self.limit is None or len(records) < self.limit
        self._position = self.end if whole else records[-1].offset + 1
        self.limit = None if self.limit is None else self.limit - len(records)
        changes = [
            (record.offset, record.timestamp, change)
            for record in records
            if (change := change_of_record(record.key, record.value)) is not None
        ]
        return CatalogChanges(changes, self._position)

    def close(self) -> None:
        """Do nothing."""


class MemoryService(IndexerService):
    """The indexer's process over a topic in memory."""

    def __init__(self, topics: Topics, engine: MemoryEngine, clock: Callable[[], float], *, rebuild: bool = False) -> None:
        super().__init__(_INDEXER, rebuild=rebuild, engine=engine, clock=clock)
        self._topics, self._reader = topics, Reader(topics, 0)

    def origin(self) -> Origin:
        """Return the name of the topic in memory."""
        return Origin("memory", "catalog", "1")

    def follow(self, index: Index, offset: int) -> Indexer:
        """Return an indexer that reads the topic in memory."""
        indexer = Indexer(self.settings, index, offset, self._clock)
        limit = self._reader.limit
        indexer._reader = self._reader = Reader(self._topics, offset)  # type: ignore[assignment]
        self._reader.limit = limit
        return indexer

    def work(self, limit: int | None) -> None:
        """Take one turn that reads at most ``limit`` changes of the catalog. Raises Killed."""
        self._reader.limit = limit
        self.turn()


class Searching:
    """The engine, and two indexers at once; an indexer that is killed starts again. ``hits``: works that a search returns."""

    def __init__(self, topics: Topics, clock: Callable[[], float], hits: int) -> None:
        self._topics, self._clock = topics, clock
        self._settings = EngineSearchSettings(
            engine="opensearch", engine_urls=_URLS, engine_hits=hits, engine_wider_hits=2 * hits
        )
        self.engine = MemoryEngine()
        self.indexers = [MemoryService(topics, self.engine, clock) for _ in range(2)]
        #: A running ``reindex``.
        self._rebuilding: MemoryService | None = None

    def source(self, catalog: Catalog) -> EngineSource:
        """Return the source of candidates of a worker's process."""
        return EngineSource(self._settings, catalog, self.engine)

    def version(self) -> Version | None:
        """Return the version of the serving index; None without one."""
        try:
            return version(self.engine, _ALIAS)
        except (EngineUnavailable, EngineError):
            return None

    def work(self, indexer: int, limit: int | None = None) -> bool:
        """Let an indexer take one turn. Return False if it was killed meanwhile and started again."""
        try:
            self.indexers[indexer].work(limit)
        except Killed:
            self.indexers[indexer] = MemoryService(self._topics, self.engine, self._clock)
            return False
        return True

    def rebuild(self, turns: int) -> None:
        """Let a ``reindex`` take some turns; it starts if none runs, and ends when its index has taken over or it is killed."""
        if self._rebuilding is None:
            self._rebuilding = MemoryService(self._topics, self.engine, self._clock, rebuild=True)
        for _ in range(turns):
            try:
                self._rebuilding.work(None)
            except Killed:
                self._rebuilding = None
                return
            if self._rebuilding.serving:
                self._rebuilding = None
                return

    def delete_index(self, number: int) -> str | None:
        """Delete one of the indexes, also one that does not serve yet; return its name, None if there is none."""
        if not self.engine.indexes:
            return None
        name = sorted(self.engine.indexes)[number % len(self.engine.indexes)]
        self.engine.delete(name)
        return name

    def complete(self) -> bool:
        """Return whether the serving index has all records."""
        found = self.version()
        return found is not None and found.offset >= self._topics.end(CATALOG)
