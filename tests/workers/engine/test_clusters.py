"""Other engines than one node of OpenSearch: three nodes of which one is lost, and Elasticsearch."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from reflink.linking.policy import Policy
from reflink.stopwatch import Stopwatch
from tests.data import CACHE
from tests.workers.engine.engines import ORIGIN, candidates, catalog_of, cite, indexed, settings, work
from workers.devkit.search_engine import SearchEngine
from workers.engine.client import Engine
from workers.engine.errors import EngineUnavailable
from workers.engine.index import names, version
from workers.engine.source import EngineSource

pytestmark = pytest.mark.full

WORKS = [work(number, f"Soil fungi of forest {'abcdefgh'[number]}", year=2000 + number) for number in range(8)]


@pytest.fixture
def three() -> Iterator[SearchEngine]:
    with SearchEngine.start(nodes=3, cache=CACHE) as engine:
        yield engine


def test_a_lost_node_loses_nothing_and_no_node_is_an_outage(three: SearchEngine):
    chosen = settings(three, engine_timeout_s=5)
    index = indexed(chosen, WORKS[:6], shards=3, replicas=1)
    index.engine.call("index", "GET", f"/_cluster/health/{index.name}?wait_for_status=green&timeout=60s", timeout_s=70)
    source = EngineSource(chosen, catalog_of(WORKS))
    before = source.candidates().near([cite(WORKS[2])], Policy(candidates=10), Stopwatch())
    three.kill(0)

    def again(seconds: float = 120) -> list[list[tuple[str, float]]]:
        until = time.monotonic() + seconds
        while True:
            try:
                return source.candidates().near([cite(WORKS[2])], Policy(candidates=10), Stopwatch())
            except EngineUnavailable:
                assert time.monotonic() < until
                time.sleep(0.2)

    assert again() == before
    for number in (1, 2):
        three.kill(number)
    with pytest.raises(EngineUnavailable):
        source.candidates()
    for number in range(3):
        three.restart(number, wait=False)
    three.wait()
    assert again() == before
    assert version(Engine(chosen), chosen.engine_index).offset == 6
    source.close()


def test_elasticsearch_answers_the_same_requests():
    with SearchEngine.start(flavour="elasticsearch", cache=CACHE) as engine:
        chosen = settings(engine)
        index = indexed(chosen, WORKS[:6], shards=2)
        index.check(ORIGIN)
        assert names(index.engine, chosen.engine_index) == [index.name]
        assert index.apply([(3, WORKS[7]), (6, WORKS[0].id), (2, WORKS[1])]) == []
        index.publish(7)
        index.publish(5)
        source = candidates(chosen, catalog_of(WORKS))
        assert source.offset == 7
        (near,) = source.near([cite(WORKS[2])], Policy(candidates=20), Stopwatch())
        assert near[0][0] == WORKS[2].id
        assert {work_id for work_id, _ in near} == {each.id for each in (*WORKS[1:6], WORKS[7])}
