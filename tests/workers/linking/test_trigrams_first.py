"""Linker and fallback that exchange their searches: the linker needs no model, and the fallback encodes what is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reflink.catalog import Catalog
from reflink.entities import Ids, Reference, Work
from reflink.linking.native import TrigramsFirst
from reflink.linking.policy import Open, Policy
from reflink.semantic import Encoder, VectorIndex
from reflink.semantic.gpu.products import FEW
from schemas import SCHEMA_VERSION, CatalogEvent, FallbackEvent, OutcomesEvent, ReferenceEvent
from tests.kafka import send, worker_settings
from tests.workers.corpus import loaded
from workers.config.settings import FallbackSettings, KafkaSettings, LinkerSettings
from workers.errors import BadSettings
from workers.kafka.clients import end_of
from workers.linking.fallback_stage import FallbackStage
from workers.linking.linker_stage import LinkerStage

OWN = "doi:10.5555/own"
WORKS = [
    Work(id=f"doi:10.5555/{n}", ids=Ids(doi=f"10.5555/{n}"), title=title, authors=("Ames",), venue="Mycologia", year=2001)
    for n, title in enumerate(("Soil fungi of the wet forest", "Drought stress in grain legumes"))
]
NEW = WORKS[0].model_copy(
    update={"id": "doi:10.5555/new", "ids": Ids(doi="10.5555/new"), "title": "Genetic changes during breeding of maize"}
)


def cited(number: int, title: str | None, **fields: Any) -> ReferenceEvent:
    return ReferenceEvent(
        schema_version=SCHEMA_VERSION, citing=OWN, paper_version=1, arrived=0,
        reference=Reference(id=f"{OWN}#r{number}.1", citing=OWN, position=number, title=title, **fields),
    )  # fmt: skip


SURE = {"last_names": ("Ames",), "venue": "Mycologia", "year": 2001}


@pytest.fixture
def snapshot(kafka: KafkaSettings, tmp_path: Path) -> Path:
    """A snapshot with vectors and trigrams, bound to the topic."""
    encoder = Encoder(device="cpu", precision="fp32")
    catalog = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision)
    catalog.add_encoded(WORKS, encoder)
    catalog.save(tmp_path / "made")
    return loaded(WORKS, tmp_path / "made", kafka, tmp_path)


@contextmanager
def warmed(stage: Any) -> Iterator[Any]:
    try:
        stage.warm()
        yield stage
    finally:
        stage.close()


def linker_of(kafka: KafkaSettings, folder: Path, **settings: Any) -> LinkerStage:
    return LinkerStage(worker_settings(kafka, folder, LinkerSettings, first_search="trigrams", lag_interval_s=60, **settings))


def fallback_of(kafka: KafkaSettings, folder: Path, **settings: Any) -> FallbackStage:
    return FallbackStage(
        worker_settings(kafka, folder, FallbackSettings, first_search="trigrams", device="cpu", lag_interval_s=60, **settings)
    )


def test_the_linker_needs_no_model_and_the_fallback_has_it(kafka: KafkaSettings, snapshot: Path, tmp_path: Path):
    with warmed(linker_of(kafka, tmp_path, catalog_snapshot=snapshot)) as linker:
        batch = [cited(1, WORKS[0].title, **SURE), cited(2, "Fungi in soil of forests", year=2001)]
        view = linker.view(batch)
        assert isinstance(view.source, TrigramsFirst)
        assert linker.catalog.vectors is None
        assert view.encoder is None
        assert not hasattr(linker, "encoder")
        output = linker.handle(batch, view)
    (outcomes,), (opened,) = (
        [model.from_json(message.value or b"") for message in output.messages if message.topic == topic]
        for topic, model in (("outcomes", OutcomesEvent), ("fallback", FallbackEvent))
    )
    assert isinstance(outcomes, OutcomesEvent)
    assert isinstance(opened, FallbackEvent)
    (item,) = outcomes.items
    assert (item.link.cited, item.link.method, outcomes.model) == (WORKS[0].id, "lexical", "trigrams")
    assert outcomes.policy == Policy(first="trigrams").fingerprint() != Policy().fingerprint()
    assert output.observed.tokens == 0
    with warmed(fallback_of(kafka, tmp_path, catalog_snapshot=snapshot)) as fallback:
        assert fallback.catalog.trigrams is None
        output = fallback.handle([opened], fallback.view([opened]))
        assert output.observed.tokens > 0
        (event,) = [OutcomesEvent.from_json(message.value or b"") for message in output.messages]
        assert (event.model, event.policy) == (fallback.encoder.name, outcomes.policy)
        assert [item.reference.position for item in event.items] == [2]


def test_a_late_work_is_found_by_trigrams_at_once_and_by_vectors_when_it_is_encoded(
    kafka: KafkaSettings, snapshot: Path, tmp_path: Path
):
    asked = [cited(1, NEW.title, **SURE)]
    with (
        warmed(linker_of(kafka, tmp_path, catalog_snapshot=snapshot)) as linker,
        warmed(fallback_of(kafka, tmp_path, catalog_snapshot=snapshot)) as fallback,
    ):
        send(kafka, "catalog", [(NEW.id.encode(), CatalogEvent(schema_version=SCHEMA_VERSION, work=NEW).to_json())])
        end = end_of(kafka, "catalog")
        linker.follower.wait_for(end, 60)
        (message,) = linker.handle(asked, linker.view(asked)).messages
        (item,) = OutcomesEvent.from_json(message.value or b"").items
        assert (item.link.cited, item.link.method) == (NEW.id, "lexical")
        fallback.follower.wait_for(end, 60)  # as ``view`` does: it adds the work, and does not wait for its vector
        assert NEW.id in fallback.catalog
        assert NEW.id not in fallback.catalog.vectors
        assert fallback.follow(0.0)
        assert NEW.id in fallback.catalog.vectors
        assert not fallback.follow(0.0)


def test_works_of_the_topic_are_encoded_and_searched_before_a_fallback_starts(
    kafka: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    searched, search = [], VectorIndex.search

    def noted(index: VectorIndex, vectors: Any, k: int) -> Any:
        searched.append((len(vectors), len(index)))
        return search(index, vectors, k)

    monkeypatch.setattr(VectorIndex, "search", noted)
    records = [(work.id.encode(), CatalogEvent(schema_version=SCHEMA_VERSION, work=work).to_json()) for work in WORKS]
    send(kafka, "catalog", records)
    with warmed(fallback_of(kafka, tmp_path)) as fallback:
        assert {work.id for work in WORKS if work.id in fallback.catalog.vectors} == {work.id for work in WORKS}
        assert searched == [(1, len(WORKS)), (FEW + 1, len(WORKS))], "a GPU has other kernels for few queries than for many"


def test_with_a_search_engine_the_order_has_no_effect():
    engine = {"engine": "opensearch", "engine_urls": "http://localhost:1", "first_search": "trigrams"}
    assert (
        LinkerStage(LinkerSettings(**engine)).policy
        == LinkerStage(LinkerSettings(**engine | {"first_search": "vectors"})).policy
    )


def opened(**fields: Any) -> FallbackEvent:
    event = cited(1, "Fungi in soil of forests", year=2001)
    return FallbackEvent(
        schema_version=SCHEMA_VERSION, citing=OWN, paper_version=1, arrived=0, catalog_offset=0,
        items=(Open(reference=event.reference),), **fields,
    )  # fmt: skip


def test_a_fallback_without_trigrams_refuses_references_of_profile_paper(kafka: KafkaSettings, tmp_path: Path):
    """Their second search has no threshold, so it would link the nearest vector, whatever its cosine."""
    fallback = fallback_of(kafka, tmp_path)
    with pytest.raises(BadSettings, match="REFLINK_FIRST_SEARCH=trigrams"):
        fallback.view([opened(model="all-MiniLM-L6-v2@1"), opened(model="all-MiniLM-L6-v2@1", profile="paper")])


def test_a_fallback_warns_once_of_a_linker_that_searched_its_index(
    kafka: KafkaSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """It must not end: the topic may hold records from before the setting was changed, mixed with later ones."""
    vectors, trigrams = opened(model="all-MiniLM-L6-v2@1"), opened(model="trigrams")
    for first, right, wrong in (("trigrams", trigrams, vectors), ("vectors", vectors, trigrams)):
        settings = worker_settings(kafka, tmp_path, FallbackSettings, first_search=first, device="cpu", lag_interval_s=60)
        caplog.clear()
        with warmed(FallbackStage(settings)) as fallback:
            for batch, warnings in (([right, opened()], 0), ([right, wrong], 1), ([wrong], 1)):
                fallback.view(batch)
                assert [each.levelname for each in caplog.records if "REFLINK_FIRST_SEARCH" in each.message] == [
                    "WARNING"
                ] * warnings
