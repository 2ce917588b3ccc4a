"""What the linker waits for before it judges, and what it encodes works and references with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reflink.catalog import Catalog
from reflink.entities import Ids, Reference, Work
from reflink.errors import SnapshotError
from reflink.linker import propose
from reflink.semantic import Encoder
from reflink.semantic.token_budget import TokenBudget
from schemas import SCHEMA_VERSION, CatalogEvent, ReferenceEvent
from tests.kafka import send, worker_settings
from tests.workers.corpus import loaded
from workers import metrics
from workers.following import CatalogFollower
from workers.linker import LinkerStage, load_encoders, own_papers
from workers.settings import KafkaSettings, LinkerSettings

OWN = "doi:10.5555/own"


def event(**ids: str) -> ReferenceEvent:
    reference = Reference(id=f"{OWN}#r1.1", citing=OWN, position=1, ids=Ids(**ids))
    return ReferenceEvent(schema_version=SCHEMA_VERSION, citing=OWN, paper_version=1, arrived=0, reference=reference)


def test_only_a_reference_with_its_own_papers_identifier_is_waited_for():
    assert own_papers([event(doi="10.5555/other"), event()]) == set()
    assert own_papers([event(doi="10.5555/other"), event(doi="10.5555/own")]) == {OWN}


class News(CatalogFollower):
    """Brings the paper with the third look, or never."""

    def __init__(self, after: int) -> None:
        super().__init__(LinkerSettings(), Catalog.empty(lexical_mode=None), None)
        self.left = after

    def apply(self, seconds: float) -> bool:
        self.left -= 1
        if self.left == 0:
            self.catalog.add([Work(id=OWN)])
        return self.left == 0


def test_a_paper_that_comes_is_waited_for_and_one_that_does_not_only_so_long():
    coming = News(after=3)
    coming.wait_for_works({OWN}, 30.0)
    assert coming.catalog.get(OWN) is not None
    started = time.monotonic()
    News(after=-1).wait_for_works({OWN}, 0.05)
    assert time.monotonic() - started >= 0.05


# Precisions


class Loaded:
    """An encoder as one is made, without a model's weights."""

    def __init__(self, model: Any, *, device: str, precision: str, token_budget: Any, separator: Any) -> None:
        self.device, self.precision = device, "fp32" if precision == "auto" else precision


@pytest.mark.parametrize(
    ("settings", "computes", "of_works", "of_references"),
    [
        ({}, True, "fp32", "bf16"),
        ({}, False, "fp32", "fp32"),
        ({"precision": "bf16"}, True, "bf16", "bf16"),
        ({"precision": "fp16"}, True, "fp16", "fp16"),
        ({"query_precision": "fp32"}, True, "fp32", "fp32"),
        ({"query_precision": "bf16"}, False, "fp32", "bf16"),
        ({"precision": "bf16", "query_precision": "fp32"}, True, "bf16", "fp32"),
    ],
)
def test_there_is_one_encoder_where_works_and_references_compute_alike_and_two_where_not(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], computes: bool, of_works: str, of_references: str
):
    monkeypatch.setattr("reflink.semantic.Encoder", Loaded)
    monkeypatch.setattr("reflink.semantic.precision._computes_bf16", lambda: computes)
    works, references = load_encoders(LinkerSettings(device="cpu", **settings))
    assert (works.precision, references.precision) == (of_works, of_references)
    assert (works is references) == (of_works == of_references)


WORKS = [Work(id=f"doi:10.5555/{n}", ids=Ids(doi=f"10.5555/{n}"), title=title) for n, title in enumerate(("Soil", "Maize"))]


def bound(kafka: KafkaSettings, folder: Path, precision: Any) -> Path:
    """A snapshot of some works at this precision, bound to the topic."""
    encoder = Encoder(device="cpu", precision=precision)
    catalog = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision, lexical_mode=None)
    catalog.add_encoded(WORKS, encoder)
    catalog.save(folder / "made")
    return loaded(WORKS, folder / "made", kafka, folder)


@contextmanager
def warmed(kafka: KafkaSettings, folder: Path, snapshot: Path, **settings: Any) -> Iterator[LinkerStage]:
    """The linker as it starts."""
    stage = LinkerStage(
        worker_settings(kafka, folder, LinkerSettings, device="cpu", lag_interval_s=60, catalog_snapshot=snapshot, **settings)
    )
    try:
        stage.warm()
        yield stage
    finally:
        stage.close()


def test_a_catalog_of_fp32_is_grown_in_fp32_and_searched_for_references_in_bf16(kafka: KafkaSettings, tmp_path: Path):
    new = Work(id="doi:10.5555/new", ids=Ids(doi="10.5555/new"), title="Genetic changes during breeding of maize")
    with warmed(kafka, tmp_path, bound(kafka, tmp_path, "fp32"), query_precision="bf16") as stage:
        send(kafka, "catalog", [(new.id.encode(), CatalogEvent(schema_version=SCHEMA_VERSION, work=new).to_json())])
        stage.follower.wait_for_works({new.id}, 60)
        assert stage.encoder.precision == "bf16"
        text = [stage.catalog.semantic_text(new)]
        assert stage.catalog.vectors is not None
        (kept,) = stage.catalog.vectors.vectors([new.id])
        exact, fast = (Encoder(device="cpu", precision=each).encode(text)[0] for each in ("fp32", "bf16"))
        assert np.array_equal(kept, exact.astype(np.float16))
        assert not np.array_equal(kept, fast.astype(np.float16))
        asked = Reference(id=f"{OWN}#r1.1", citing=OWN, position=1, title=new.title)
        view = stage.view([ReferenceEvent(schema_version=1, citing=OWN, paper_version=1, arrived=0, reference=asked)])
        assert np.array_equal(view.encoder.encode(text)[0], fast)
        assert view.precise is not None
        assert view.precise.precision == "fp32", "for references whose best two are close"
        assert propose([asked], view.catalog, view.encoder, view.policy)[0][0] == new.id


def test_a_snapshot_of_bf16_is_for_those_who_ask_for_bf16(kafka: KafkaSettings, tmp_path: Path):
    snapshot = bound(kafka, tmp_path, "bf16")
    told = "vectors are of precision bf16, not fp32: build it again, or set REFLINK_PRECISION=bf16$"
    for settings in ({}, {"query_precision": "bf16"}):
        with pytest.raises(SnapshotError, match=told) as error, warmed(kafka, tmp_path, snapshot, **settings):
            pass
        assert str(snapshot) in str(error.value)
        assert "\n" not in str(error.value)
    with warmed(kafka, tmp_path, snapshot, precision="bf16") as stage:
        assert stage.follower.encoder is stage.encoder
        assert len(stage.catalog) == 2


class WithMemory:
    """What the metrics ask of an encoder."""

    device = "cpu"

    def __init__(self) -> None:
        self.memory = TokenBudget(1000)


def test_both_encoders_memory_is_a_metric_and_the_budget_is_that_of_references():
    stage, works = LinkerStage(LinkerSettings()), WithMemory()
    references: Any = WithMemory()
    stage.encoder, stage._of_works = references, works  # type: ignore[assignment]
    before = metrics.ENCODER_OUT_OF_MEMORY._value.get()
    works.memory.failed(1000)
    stage._show_memory()
    assert metrics.ENCODER_TOKEN_BUDGET._value.get() == 1000
    references.memory.failed(1000)
    stage._show_memory()
    stage._show_memory()
    assert metrics.ENCODER_TOKEN_BUDGET._value.get() == 500
    assert metrics.ENCODER_OUT_OF_MEMORY._value.get() - before == 2
