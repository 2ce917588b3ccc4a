"""The indexer against a real topic and a real engine: first index, restart, snapshot, reindex, and a deleted index."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reflink.catalog import Catalog
from reflink.entities import Work
from reflink.linking.policy import Policy
from reflink.stopwatch import Stopwatch
from schemas import SCHEMA_VERSION, CatalogEvent
from tests.kafka import send, worker_settings
from tests.workers.echo import until
from tests.workers.engine.engines import ORIGIN, alias, candidates, catalog_of, cite, work
from workers.catalog.bulk_load import load_and_bind
from workers.config.engine import EngineSearchSettings
from workers.config.indexer import IndexerSettings
from workers.config.settings import KafkaSettings
from workers.devkit.search_engine import SearchEngine
from workers.engine.client import Engine
from workers.engine.errors import EngineRefused
from workers.engine.index import Index, names, version
from workers.engine.service import IndexerService
from workers.kafka.clients import end_of

WORKS = [work(number, f"Soil fungi of forest {'abcdefgh'[number]}", year=2000 + number) for number in range(8)]


def put(kafka: KafkaSettings, *changes: Work | str) -> None:
    """Send works, and tombstones of ids, to the catalog topic."""
    send(
        kafka,
        "catalog",
        [
            (each.encode(), None)
            if isinstance(each, str)
            else (each.id.encode(), CatalogEvent(schema_version=SCHEMA_VERSION, work=each).to_json())
            for each in changes
        ],
    )


class Served:
    """An index of a topic, as its readers see it."""

    def __init__(self, kafka: KafkaSettings, engine: SearchEngine, state: Path, **more: Any) -> None:
        self.kafka, self.name = kafka, alias()
        chosen = {"engine_urls": engine.urls[0], "engine_index": self.name, "engine_replicas": 0, "index_works": 3}
        self.settings: IndexerSettings = worker_settings(kafka, state, IndexerSettings, **{**chosen, **more})
        self.engine = Engine(self.settings)

    @contextmanager
    def running(self, *, rebuild: bool = False, **more: Any) -> Iterator[IndexerService]:
        service = IndexerService(self.settings.model_copy(update=more), rebuild=rebuild)
        failed: list[BaseException] = []

        def run() -> None:
            try:
                service.run()
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield service
        finally:
            if not rebuild:
                service.stop()
            thread.join(60)
            assert not thread.is_alive()
        if failed:
            raise failed[0]

    def offset(self) -> int:
        """Return the watermark of the serving index; -1 if none serves."""
        return version(self.engine, self.name).offset if names(self.engine, self.name) else -1

    def await_end(self) -> None:
        until(lambda: self.offset() >= end_of(self.kafka, "catalog"), what="the index is behind the topic")

    def found(self, *works: Work) -> set[str]:
        """Return the ids that a search for the first of these works finds among them."""
        chosen = EngineSearchSettings(engine="opensearch", engine_urls=self.settings.engine_urls, engine_index=self.name)
        (near,) = candidates(chosen, catalog_of(works)).near([cite(works[0])], Policy(candidates=100), Stopwatch())
        return {work_id for work_id, _ in near}


@pytest.fixture
def served(kafka: KafkaSettings, search_engine: SearchEngine, state: Path) -> Served:
    return Served(kafka, search_engine, state)


def ids(*works: Work) -> set[str]:
    return {each.id for each in works}


def test_an_index_follows_the_topic_and_goes_on_after_a_restart(served: Served):
    put(served.kafka, *WORKS[:4])
    with served.running():
        served.await_end()
        assert served.found(*WORKS) == ids(*WORKS[:4])
        put(served.kafka, WORKS[4], WORKS[0].id, WORKS[1].model_copy(update={"title": "Something else"}))
        served.await_end()
        assert WORKS[0].id not in served.found(*WORKS)
    put(served.kafka, WORKS[5])
    (index,) = names(served.engine, served.name)
    with served.running(), served.running():  # a second one does no harm
        served.await_end()
        assert {WORKS[4].id, WORKS[5].id} <= served.found(*WORKS)
    assert names(served.engine, served.name) == [index]


def test_an_index_serves_only_when_it_has_all_works(served: Served):
    put(served.kafka, *WORKS)
    index = Index.create(served.engine, served.name, ORIGIN, shards=1, replicas=0)
    assert served.offset() == -1
    index.delete()
    with served.running():
        until(lambda: names(served.engine, served.name))
        assert served.offset() == end_of(served.kafka, "catalog")


def test_an_index_starts_from_a_snapshot(served: Served, tmp_path: Path):
    catalog = Catalog.empty(lexical_mode=None)
    catalog.add(WORKS[:6])
    catalog.save(tmp_path / "catalog")
    load_and_bind(WORKS[:6], tmp_path / "catalog", served.kafka)
    put(served.kafka, WORKS[6], WORKS[2].id)
    with served.running(catalog_snapshot=tmp_path / "catalog"):
        served.await_end()
        assert served.found(*WORKS) == ids(*WORKS[:7]) - {WORKS[2].id}


def test_a_rebuilt_index_takes_over_and_the_indexer_goes_over_to_it(served: Served):
    put(served.kafka, *WORKS[:4])
    with served.running():
        served.await_end()
        (before,) = names(served.engine, served.name)
        with served.running(rebuild=True, engine_shards=2):
            pass
        (after,) = names(served.engine, served.name)
        assert after != before
        assert served.offset() == end_of(served.kafka, "catalog")
        settings = served.engine.call("index", "GET", f"/{after}/_settings")[after]["settings"]["index"]
        assert settings["number_of_shards"] == "2"
        put(served.kafka, WORKS[5])
        served.await_end()
        assert WORKS[5].id in served.found(*WORKS)
        assert names(served.engine, f"{before}") == []


def test_a_deleted_index_is_built_again(served: Served):
    put(served.kafka, *WORKS[:4])
    with served.running():
        served.await_end()
        (before,) = names(served.engine, served.name)
        Index(served.engine, before).delete()
        put(served.kafka, WORKS[4])
        until(lambda: names(served.engine, served.name) not in ([], [before]))
        served.await_end()
        assert served.found(*WORKS) == ids(*WORKS[:5])


def test_an_index_of_another_topic_ends_the_indexer(served: Served):
    put(served.kafka, *WORKS)
    index = Index.create(served.engine, served.name, ORIGIN, shards=1, replicas=0)
    index.serve(served.name)
    with pytest.raises(EngineRefused, match="set another REFLINK_ENGINE_INDEX"):
        IndexerService(served.settings).run()
