"""The index in a real engine: versions, watermark, alias, and what survives repeated and delayed writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from reflink.entities import Work
from tests.profiles import examples
from tests.workers.engine.engines import ORIGIN, alias, candidates, catalog_of, cite, indexed, settings, work
from workers.devkit.search_engine import SearchEngine
from workers.engine.client import Engine
from workers.engine.errors import EngineRefused, NotFound
from workers.engine.index import Index, names, unfinished, version
from workers.engine.origin import Origin

WORKS = [work(number, f"Title of number {number}") for number in range(5)]


def found(engine: Engine, index: Index, word: str) -> set[str]:
    """Return the ids of the documents with a word."""
    index.refresh()
    body = {"query": {"match": {"words": word}}, "sort": [{"id": "asc"}], "size": 100}
    hits = engine.call("search", "POST", f"/{index.name}/_search", body)["hits"]["hits"]
    return {hit["sort"][0] for hit in hits}


@pytest.fixture(scope="module")
def engine(search_engine: SearchEngine) -> Engine:
    return Engine(settings(search_engine))


def created(engine: Engine, name: str | None = None) -> Index:
    return Index.create(engine, name or alias(), ORIGIN, shards=1, replicas=0)


def test_the_watermark_only_rises(engine: Engine):
    index = created(engine)
    assert version(engine, index.name) == (version(engine, index.name))
    for offset, expected in ((0, 0), (7, 7), (5, 7), (7, 7), (8, 8)):
        index.write_watermark(offset)
        assert version(engine, index.name).offset == expected


def test_an_older_write_changes_nothing_also_after_a_removal(engine: Engine):
    index, new, old = created(engine), work(1, "newer words"), work(1, "older words")
    index.apply([(5, new)])
    assert index.apply([(4, old)]) == []
    assert found(engine, index, "newer") == {new.id}
    assert found(engine, index, "older") == set()
    index.apply([(6, new.id)])
    assert index.apply([(5, new)]) == []
    assert found(engine, index, "newer") == set()
    index.apply([(7, new)])
    assert found(engine, index, "newer") == {new.id}


@given(st.data())
@profile(max_examples=examples(25))
def test_any_order_and_repetition_of_writes_ends_in_the_newest_state(engine: Engine, data: st.DataObject):
    """Two indexers, or one that was killed, may write the same changes again and again."""
    history: list[tuple[int, Work | str]] = []
    for offset in range(data.draw(st.integers(1, 8))):
        each = data.draw(st.sampled_from(WORKS[:3]))
        gone = data.draw(st.booleans())
        history.append((offset, each.id if gone else each.model_copy(update={"title": f"word{offset} common"})))
    index = created(engine)
    order = data.draw(st.permutations(history)) + data.draw(st.lists(st.sampled_from(history), max_size=5))
    for change in order:
        assert index.apply([change]) == []
    newest: dict[str, Work | str] = {(change if isinstance(change, str) else change.id): change for _, change in history}
    assert found(engine, index, "common") == {work_id for work_id, change in newest.items() if isinstance(change, Work)}
    index.delete()


def test_a_work_that_the_engine_refuses_does_not_stop_the_others(engine: Engine):
    index, broken = created(engine), Work(id="x:" + "y" * 40_000, title="broken words")
    refused = index.apply([(0, WORKS[0]), (1, broken), (2, WORKS[1])])
    assert [work_id for work_id, _ in refused] == [broken.id]
    assert found(engine, index, "title") == {WORKS[0].id, WORKS[1].id}


def test_an_id_above_the_limit_of_the_engine_is_found(engine: Engine):
    index, long = created(engine), Work(id="x:" + "é" * 400, title="a long id")
    assert index.apply([(0, long)]) == []
    assert found(engine, index, "long") == {long.id}
    index.apply([(1, long.id)])
    assert found(engine, index, "long") == set()


def test_the_alias_names_one_index_at_a_time(engine: Engine):
    name = alias()
    with pytest.raises(NotFound):
        version(engine, name)
    assert names(engine, name) == []
    first, second = created(engine, name), created(engine, name)
    assert unfinished(engine, name, ORIGIN) is not None
    assert first.serve(name) == []
    assert names(engine, name) == [first.name]
    assert second.serve(name) == [first.name]
    assert version(engine, name).index == second.name
    first.delete()
    assert unfinished(engine, name, ORIGIN) is None


def test_an_index_of_another_topic_is_refused(engine: Engine):
    index = created(engine)
    index.check(ORIGIN)
    index.check(ORIGIN._replace(topic_id=None))
    for other, message in (
        (Origin("another", ORIGIN.topic, ORIGIN.topic_id), "on cluster cluster, but this worker follows"),
        (Origin(ORIGIN.cluster, "t.catalog", ORIGIN.topic_id), "set another REFLINK_ENGINE_INDEX"),
        (Origin(ORIGIN.cluster, ORIGIN.topic, "another"), "reflink-worker reindex"),
    ):
        with pytest.raises(EngineRefused, match=message):
            index.check(other)
        assert unfinished(engine, index.name, other) is None


@pytest.mark.parametrize("shards", [1, 3])
def test_shards_do_not_change_the_hits(search_engine: SearchEngine, shards: int):
    """The engine collects the frequencies of words from all shards first (dfs_query_then_fetch)."""
    chosen = settings(search_engine)
    works = [work(number, f"{'soil ' * (number % 7)}fungi of forest {number % 5}") for number in range(60)]
    indexed(chosen, works, shards=shards)
    source = candidates(chosen, catalog_of(works))
    hits = source.search([cite(works[8]), cite(works[30])], [10, 10], wide=False)
    assert [len(each) for each in hits] == [10, 10]
    other = settings(search_engine)
    indexed(other, works)
    assert candidates(other, catalog_of(works)).search([cite(works[8]), cite(works[30])], [10, 10], wide=False) == hits


def test_writes_to_a_deleted_index_do_not_create_it_again(engine: Engine):
    index = created(engine)
    index.delete()
    index.delete()
    with pytest.raises(NotFound):
        index.apply([(0, WORKS[0])])
    with pytest.raises(NotFound):
        index.write_watermark(1)
    with pytest.raises(NotFound):
        version(engine, index.name)


def test_a_writer_notices_that_another_one_is_ahead(engine: Engine):
    index = created(engine)
    index.apply([(3, WORKS[0])])
    assert not index.conflicts
    index.apply([(3, WORKS[0])])
    assert not index.conflicts, "an equal version is written again, to all copies"
    index.apply([(2, WORKS[0])])
    assert index.conflicts


def test_an_index_that_has_served_is_not_unfinished(engine: Engine):
    """Otherwise one whose deletion failed would take over again."""
    name = alias()
    first, second = created(engine, name), created(engine, name)
    first.serve(name)
    second.serve(name)
    assert names(engine, name) == [second.name]
    assert unfinished(engine, name, ORIGIN) is None
