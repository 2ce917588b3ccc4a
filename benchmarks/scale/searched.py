"""Reflink's linker with candidates from an OpenSearch node that the benchmark starts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from reflink.catalog import Catalog
from reflink.entities import Link, Reference, Work
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out, tracked
from reflink.linking.policy import Policy
from workers.config.engine import EngineSearchSettings
from workers.devkit.search_engine import SearchEngine
from workers.engine.candidates import EngineCandidates
from workers.engine.client import Engine
from workers.engine.index import Index, version
from workers.engine.origin import Origin

#: Works in one bulk request.
BULK: Final = 2000
_HEAP_MB: Final = 2048
_TIMEOUT_S: Final = 300.0


class Searched:
    """The linker over one index and the local records and keys of the same works."""

    def __init__(self, catalog: Catalog, settings: EngineSearchSettings, pid: int | None = None) -> None:
        """``pid``: the process of the node, if the benchmark has started it."""
        self.catalog, self.settings = catalog, settings
        self.pid = pid
        self.engine, self.judges = Engine(settings), HeldOut.shipped()
        self.index = Index.create(
            self.engine, settings.engine_index, Origin("benchmark", "catalog", None), shards=1, replicas=0
        )
        self._offset = 0
        works: list[Work | str] = []
        for work in tracked(catalog, "indexing"):
            works.append(work)
            if len(works) == BULK:
                self._write(works)
                works = []
        self._write(works)
        self._publish()

    def source(self) -> EngineCandidates:
        """Return candidates of the present state."""
        found = version(self.engine, self.index.name)
        hits, wider = self.settings.engine_hits, self.settings.engine_wider_hits
        return EngineCandidates(self.engine, self.catalog, found, hits=hits, wider_hits=wider)

    def link(self, references: Sequence[Reference]) -> list[Link]:
        """Return a link for each reference, in order."""
        return link_held_out(
            references, self.source(), Policy(), self.judges, f"linking by engine, {len(self.catalog):,} works"
        )

    def remove(self, ids: Collection[str]) -> None:
        """Remove works from the index and from the local records."""
        self.catalog.remove(ids)
        gone: list[Work | str] = [*ids]
        for start in range(0, len(gone), BULK):
            self._write(gone[start : start + BULK])
        self._publish()

    def _write(self, changes: Sequence[Work | str]) -> None:
        refused = self.index.apply([(self._offset + number, change) for number, change in enumerate(changes)])
        assert not refused, refused[:3]
        self._offset += len(changes)

    def _publish(self) -> None:
        self.index.publish(self._offset)


@contextmanager
def engine(catalog: Catalog) -> Iterator[Searched]:
    """Start a node, index the catalog, and yield the linker over it."""
    with SearchEngine.start(heap_mb=_HEAP_MB, optimize=True) as node:
        settings = EngineSearchSettings(
            engine="opensearch", engine_urls=node.urls[0], engine_index="benchmark", engine_timeout_s=_TIMEOUT_S
        )
        process = node.nodes[0].process
        yield Searched(catalog, settings, None if process is None else process.pid)
