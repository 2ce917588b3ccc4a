"""Faults of a search engine and its indexer during a history on a real Kafka."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final

from workers.config.engine import EngineSettings
from workers.devkit.processes import Pipeline
from workers.devkit.search_engine import SearchEngine
from workers.engine.client import Engine
from workers.engine.index import Index, names

KINDS: Final = ("the indexer is killed", "the index is deleted", "the node is killed", "the node is paused")
#: Duration of a pause of the node: longer than a request of a worker waits.
_PAUSE_S: Final = 6.0


class EngineFaults:
    """Each kind of fault once, before the steps of the history in ``at``."""

    def __init__(self, engine: SearchEngine, pipeline: Pipeline, alias: str, at: Sequence[int]) -> None:
        self._engine, self._pipeline, self._alias = engine, pipeline, alias
        self._kinds = dict(zip(at, KINDS, strict=True))
        #: Number of faults that took effect, by kind.
        self.counts: Counter[str] = Counter()

    def step(self, number: int, record: Callable[[str], object]) -> None:
        """Apply the fault of this step, if there is one, and record it."""
        if (kind := self._kinds.get(number)) is None:
            return
        match kind:
            case "the indexer is killed":
                (indexer,) = self._pipeline.of("indexer")
                indexer.kill()
                indexer.restart()
            case "the index is deleted":
                self._delete()
            case "the node is killed":
                self._engine.restart(0, kill=True)
            case _:
                self._engine.pause(0)
                time.sleep(_PAUSE_S)
                self._engine.resume(0)
                self._engine.wait()
        record(kind)
        self.counts[kind] += 1

    def _delete(self) -> None:
        client = Engine(EngineSettings(engine="opensearch", engine_urls=self._engine.urls[0], engine_index=self._alias))
        with closing(client):
            for name in names(client, self._alias):
                Index(client, name).delete()
