"""The verdict on open references with candidates of a real search engine, against the linker over the same engine."""

from __future__ import annotations

import pickle
import uuid
from pathlib import Path

import pytest

from reflink.catalog import Catalog
from reflink.catalog.build import build
from reflink.cli.inputs import read_papers
from reflink.entities import Paper
from reflink.linking.linker import Linker
from reflink.linking.policy import Open, Policy
from tests.data import ROOT
from tests.workers.backfill.joining import joined
from workers.backfill.deciding import Rules, by_keys, by_text
from workers.config.engine import EngineSearchSettings
from workers.devkit.search_engine import SearchEngine
from workers.engine.client import Engine
from workers.engine.errors import EngineUnavailable
from workers.engine.index import Index
from workers.engine.origin import Origin
from workers.engine.source import EngineSource

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalog") / "catalog"
    build(ROOT / "examples/works.jsonl", folder, encoder=None, lexical_mode=None)
    return folder


def test_outcomes_are_those_of_the_linker_over_the_engine(snapshot: Path, search_engine: SearchEngine):
    name, catalog = f"t{uuid.uuid4().hex[:10]}", Catalog.open(snapshot)
    settings = EngineSearchSettings(
        engine="opensearch", engine_urls=",".join(search_engine.urls), engine_index=name, engine_timeout_s=60
    )
    index = Index.create(Engine(settings), name, Origin("cluster", "catalog", None), shards=1, replicas=0)
    assert index.apply(list(enumerate(catalog))) == []
    index.publish(len(catalog))
    index.serve(name)
    papers = [paper for _, paper in read_papers([str(ROOT / "examples/papers")]) if isinstance(paper, Paper)]
    references = [*{each.id: each for paper in papers for each in paper.references}.values()]
    # As Spark sends them to executors.
    rules: Rules = pickle.loads(pickle.dumps(Rules(Policy(), str(snapshot), settings)))
    first = by_keys(joined([*catalog], references), rules)
    opens = [each for each in first if isinstance(each, Open)]
    rest = iter(by_text(rules)(opens))
    links = [next(rest) if isinstance(each, Open) else each for each in first]
    assert links == Linker.over(EngineSource(settings, catalog).candidates()).link(references)
    assert sum(link.method == "lexical" for link in links) > 10


def test_an_engine_that_does_not_answer_ends_the_batch(snapshot: Path):
    settings = EngineSearchSettings(engine="opensearch", engine_urls="http://127.0.0.1:9", engine_timeout_s=1)
    with pytest.raises(EngineUnavailable):
        by_text(Rules(Policy(), str(snapshot), settings))([])
