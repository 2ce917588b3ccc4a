"""An index that is deleted, or whose maker was killed, on a real engine: it never comes back as an index of something else."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from reflink.catalog import Catalog
from reflink.entities import Work
from workers.config.engine import EngineSearchSettings
from workers.devkit.search_engine import SearchEngine
from workers.engine.client import Engine
from workers.engine.errors import EngineUnavailable, NotFound
from workers.engine.index import Index, names, unfinished, version
from workers.engine.origin import Origin
from workers.engine.source import EngineSource

ORIGIN = Origin("cluster", "catalog", "1")
WORK = Work(id="doi:10.1/a", title="Growth of young salmon in cold water lakes")


@pytest.fixture
def alias() -> str:
    return f"t{uuid.uuid4().hex[:8]}"


@pytest.fixture
def settings(search_engine: SearchEngine, alias: str) -> EngineSearchSettings:
    return EngineSearchSettings(engine="opensearch", engine_urls=",".join(search_engine.urls), engine_index=alias)


@pytest.fixture
def engine(settings: EngineSearchSettings) -> Iterator[Engine]:
    engine = Engine(settings)
    yield engine
    engine.close()


def made(engine: Engine, alias: str) -> Index:
    return Index.create(engine, alias, ORIGIN, shards=1, replicas=0)


def existing(engine: Engine, alias: str) -> list[str]:
    return sorted(engine.call("index", "GET", f"/{alias}*/_mapping?ignore_unavailable=true&allow_no_indices=true"))


def test_a_write_does_not_bring_a_deleted_index_back(engine: Engine, alias: str):
    index = made(engine, alias)
    assert index.apply([(0, WORK)]) == []
    index.delete()
    with pytest.raises(NotFound):
        index.apply([(1, WORK), (2, "doi:10.1/b")])
    with pytest.raises(NotFound):
        index.refresh()
    with pytest.raises(NotFound):
        index.write_watermark(3)
    assert existing(engine, alias) == []


def test_an_index_whose_maker_was_killed_before_its_first_watermark_is_used(
    engine: Engine, alias: str, monkeypatch: pytest.MonkeyPatch
):
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Index, "write_watermark", killed)
        with pytest.raises(KeyboardInterrupt):
            made(engine, alias)
    (name,) = existing(engine, alias)
    found = unfinished(engine, alias, ORIGIN)
    assert found is not None
    assert found.name == name
    assert version(engine, name).offset == 0


def test_an_unfinished_index_keeps_its_watermark(engine: Engine, alias: str):
    made(engine, alias).write_watermark(7)
    found = unfinished(engine, alias, ORIGIN)
    assert found is not None
    assert version(engine, found.name).offset == 7


def test_an_index_of_a_longer_alias_is_not_unfinished(engine: Engine, alias: str):
    made(engine, f"{alias}-other")
    assert unfinished(engine, alias, ORIGIN) is None


def test_an_alias_of_two_indexes_is_an_outage_until_one_of_them_serves(
    engine: Engine, alias: str, settings: EngineSearchSettings
):
    """Two indexers that let their indexes serve at the same moment would both have added the alias."""
    one, other = made(engine, alias), made(engine, alias)
    both = [{"add": {"index": each.name, "alias": alias}} for each in (one, other)]
    engine.call("index", "POST", "/_aliases", {"actions": both})
    source = EngineSource(settings, Catalog.empty(lexical_mode=None), engine)
    with pytest.raises(EngineUnavailable, match="no index serves"):
        source.candidates()
    assert other.serve(alias) == [one.name]
    assert names(engine, alias) == [other.name]
    assert source.candidates().offset == 0
