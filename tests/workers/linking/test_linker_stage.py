"""The linker's outcomes, and the encoders that it uses for works and for references."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any, TypeVar

import numpy as np
import pytest

from reflink.catalog import Catalog
from reflink.entities import Ids, Reference, Work
from reflink.errors import SnapshotError
from reflink.linking.linker import propose
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.linking.shares import Shares
from reflink.semantic import Encoder
from reflink.semantic.encoder.query_precision import default_file, machine
from reflink.semantic.encoder.spent import Spent
from reflink.semantic.encoder.token_budget import TokenBudget
from reflink.text import SEP
from schemas import SCHEMA_VERSION, CatalogEvent, Event, FallbackEvent, OutcomesEvent, ReferenceEvent
from schemas.references import OFFSET_HEADER, required_offset
from tests.kafka import send, worker_settings
from tests.workers.corpus import loaded
from workers.config.settings import KafkaSettings, LinkerSettings
from workers.kafka.clients import end_of
from workers.linking.encoders import load_encoders
from workers.linking.linker_stage import LinkerStage, LinkerView
from workers.records import Received
from workers.stage import Output
from workers.telemetry import metrics

E = TypeVar("E", bound=Event)

OWN = "doi:10.5555/own"


# Outcomes


class Letters:
    """An encoder whose vectors hold the frequencies of the letters."""

    name, precision, dim, separator, tokens_read, spent = "letters@1", "fp32", 26, SEP, 0, Spent()

    def encode(self, texts: Sequence[str]) -> Any:
        counts = np.array([[text.lower().count(letter) for letter in ascii_lowercase] for text in texts], np.float32)
        return (counts + 1e-3) / np.linalg.norm(counts + 1e-3, axis=1, keepdims=True)


CITED = Work(id="doi:10.5555/cited", ids=Ids(doi="10.5555/cited"), title="Soil fungi of the wet forest", year=2001)
TWIN = Work(id="doi:10.5555/twin", ids=Ids(doi="10.5555/twin"), title="Soil fungi of the wet forest", year=2001)


def handled(*events: ReferenceEvent, policy: Policy | None = None, shares: Shares | None = None) -> Output:
    encoder: Any = Letters()
    catalog = Catalog.empty(dim=26, model=encoder.name, precision="fp32", lexical_mode=None)
    catalog.add_encoded([CITED, TWIN], encoder)
    source = NativeCandidates(catalog, encoder)
    view = LinkerView(source, policy or Policy(), 7, encoder, shares or Shares())
    return LinkerStage(LinkerSettings()).handle(events, view)


def citing(number: int, forbidden: tuple[str, ...] = (), woken: int = 0, **reference: Any) -> ReferenceEvent:
    return ReferenceEvent(
        schema_version=SCHEMA_VERSION, citing=OWN, paper_version=1, arrived=0, woken=woken, forbidden=forbidden,
        reference=Reference(id=f"{OWN}#r{number}.1", citing=OWN, position=number, title=CITED.title, year=2001, **reference),
    )  # fmt: skip


def read(output: Output, topic: str, model: type[E]) -> list[E]:
    return [model.from_json(message.value or b"") for message in output.messages if message.topic == topic]


def test_events_name_model_policy_and_cause():
    surely, policy = {"ids": Ids(doi="10.5555/cited")}, Policy(sure=0.9)
    output = handled(
        citing(1, **surely),
        citing(2, woken=5, **surely),
        citing(3, woken=6),
        citing(4),
        policy=policy,
    )
    outcomes = read(output, "outcomes", OutcomesEvent)
    opens = read(output, "fallback", FallbackEvent)
    assert [(each.woken, [item.reference.position for item in each.items]) for each in outcomes] == [(0, [1]), (5, [2])]
    assert [(each.woken, [item.reference.position for item in each.items]) for each in opens] == [(6, [3]), (0, [4])]
    named = {(each.model, each.policy) for each in (*outcomes, *opens)}
    assert named == {("letters@1", policy.fingerprint())}


def test_a_reference_is_judged_under_the_share_of_its_source():
    shares, policy = Shares(0.6, {"10.5555": 0.9}), Policy(sure=0.6)
    ids = {"ids": Ids(doi="10.5555/cited")}
    other = citing(3, **ids)
    other = other.model_copy(update={"citing": "pmid:7", "reference": other.reference.model_copy(update={"citing": "pmid:7"})})
    output = handled(citing(1, **ids), citing(2), other, policy=policy, shares=shares)
    outcomes, opens = read(output, "outcomes", OutcomesEvent), read(output, "fallback", FallbackEvent)
    assert [(each.citing, each.absent) for each in outcomes] == [(OWN, 0.9), ("pmid:7", 0.6)]
    assert [(each.citing, each.absent) for each in opens] == [(OWN, 0.9)]
    for each in (*outcomes, *opens):
        assert each.policy == replace(policy, absent=each.absent).fingerprint()
    (likely,) = read(handled(citing(1, **ids), policy=policy), "outcomes", OutcomesEvent)
    assert (likely.absent, likely.policy) == (0.5, policy.fingerprint())
    assert likely.items[0].link.probability > outcomes[0].items[0].link.probability  # type: ignore[operator]


def test_a_fixed_share_replaces_the_learnt_ones():
    assert LinkerStage(LinkerSettings(absent=0.3)).view_shares.of(OWN) == 0.3
    assert LinkerStage(LinkerSettings(absent="auto")).view_shares.of(OWN) == 0.5
    assert LinkerStage(LinkerSettings()).view_shares.of(OWN) == 0.5


def test_a_forbidden_work_is_not_a_candidate_and_is_named_in_the_outcome():
    ids = {"ids": Ids(doi="10.5555/cited")}
    eager = Policy(sure=0.0, accept=0.0)
    output = handled(citing(1, **ids), citing(1, (CITED.id,), **ids), policy=eager)
    first, second = read(output, "outcomes", OutcomesEvent)[0].items
    assert (first.link.cited, first.forbidden) == (CITED.id, ())
    assert (second.link.cited, second.forbidden) == (TWIN.id, (CITED.id,))
    (opened,) = read(handled(citing(1, (CITED.id,))), "fallback", FallbackEvent)[0].items
    assert opened.forbidden == (CITED.id,)
    assert [each.cited for each in opened.found.semantic] == [TWIN.id]


def test_an_outcome_has_the_other_ids_of_its_work():
    """The ledger keeps no catalog: by these ids it finds the link when a later work has one of them."""
    encoder: Any = Letters()
    catalog = Catalog.empty(dim=26, model=encoder.name, precision="fp32", lexical_mode=None)
    same = Work(id="x:1", ids=Ids(doi="10.5555/cited", pmid="5"), title=CITED.title, year=2001)
    catalog.add_encoded([CITED, TWIN, same], encoder)
    view = LinkerView(NativeCandidates(catalog, encoder), Policy(), 7, encoder)
    output = LinkerStage(LinkerSettings()).handle([citing(1, ids=Ids(doi="10.5555/cited"))], view)
    (item,) = read(output, "outcomes", OutcomesEvent)[0].items
    assert (item.link.cited, item.aliases, item.shared) == (CITED.id, ("pmid:5", "x:1"), True)
    (alone,) = read(handled(citing(1, ids=Ids(doi="10.5555/cited"))), "outcomes", OutcomesEvent)[0].items
    assert (alone.aliases, alone.shared) == ((), False)


def test_a_pinned_reference_gets_the_canonical_id_and_the_status_of_its_work():
    """It is not evaluated, and others of its batch are."""
    encoder: Any = Letters()
    catalog = Catalog.empty(dim=26, model=encoder.name, precision="fp32", lexical_mode=None)
    catalog.add_encoded(
        [TWIN, CITED.model_copy(update={"ids": Ids(doi="10.5555/cited", pmid="5"), "status": "retracted"})], encoder
    )
    view = LinkerView(NativeCandidates(catalog, encoder), Policy(), 7, encoder)
    batch = [
        citing(1).model_copy(update={"pinned": "pmid:5"}), citing(2, ids=Ids(doi="10.5555/cited")),
        citing(3).model_copy(update={"pinned": "x:unknown"}),
    ]  # fmt: skip
    for events in (batch, batch[:1] + batch[2:]):
        output = LinkerStage(LinkerSettings()).handle(events, view)
        items = {item.reference.position: item for each in read(output, "outcomes", OutcomesEvent) for item in each.items}
        first, last = items[1], items[3]
        assert (first.link.cited, first.link.status, first.link.method) == (CITED.id, "retracted", "curator")
        assert (first.pinned, first.aliases, first.shared) == ("pmid:5", ("pmid:5",), False)
        assert (last.link.cited, last.link.status, last.pinned, last.aliases) == ("x:unknown", None, "x:unknown", ())
    assert items.keys() == {1, 3}


# Re-evaluated references


class AtOffset:
    """The part of a follower or a catalog that the linker uses."""

    def __init__(self, offset: int, lag: int = 0) -> None:
        self.offset, self.lag = offset, lag


@pytest.mark.parametrize(
    ("value", "lag", "waited_s", "ready"),
    [
        (b"7", 5, 0.0, True),
        (b"8", 5, 1e9, False),  # live records need not wait until the work is encoded
        (b"8", 0, 1.0, False),  # the follower may read it in a moment
        (b"8", 0, 3.0, True),  # or never: ``view`` then raises
        (None, 5, 0.0, True),
        (b"", 5, 0.0, True),
        (b"-1", 5, 0.0, True),
        ("\u0667\u0668".encode(), 5, 0.0, True),
        (b"9" * 19, 5, 0.0, False),
        (b"9" * 9999, 5, 0.0, True),
    ],
)
def test_a_retry_is_ready_when_the_required_works_are_encoded(value: bytes | None, lag: int, waited_s: float, ready: bool):
    stage: Any = LinkerStage(LinkerSettings())
    stage.catalog, stage.follower = AtOffset(7), AtOffset(7, lag)
    headers = () if value is None else ((OFFSET_HEADER, value),)
    assert stage.ready(Received("retries", 0, 0, None, b"", headers, 0), waited_s) is ready


def test_the_header_has_the_catalog_offset_of_the_event():
    event = citing(1).model_copy(update={"catalog_offset": 541})
    assert required_offset(event.headers()) == 541
    assert required_offset(((OFFSET_HEADER, b"1"), *event.headers(), ("another", b"7"))) == 541


# Precisions


class Loaded:
    """The device and precision of an encoder, without a model's weights."""

    def __init__(self, model: Any, *, device: str, precision: str, token_budget: Any, separator: Any) -> None:
        self.device, self.precision = device, "fp32" if precision == "auto" else precision


@pytest.mark.parametrize(
    ("settings", "faster", "of_works", "of_references"),
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
def test_works_and_references_share_an_encoder_of_equal_precision(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    settings: dict[str, Any],
    faster: bool,
    of_works: str,
    of_references: str,
):
    monkeypatch.setattr("reflink.semantic.Encoder", Loaded)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    default_file().parent.mkdir()
    default_file().write_text(json.dumps({machine(): {"fp32": 100, "bf16": 200 if faster else 60}}))
    works, references = load_encoders(LinkerSettings(device="cpu", **settings))
    assert (works.precision, references.precision) == (of_works, of_references)
    assert (works is references) == (of_works == of_references)


WORKS = [Work(id=f"doi:10.5555/{n}", ids=Ids(doi=f"10.5555/{n}"), title=title) for n, title in enumerate(("Soil", "Maize"))]


def bound(kafka: KafkaSettings, folder: Path, precision: Any) -> Path:
    """Return a snapshot of some works at this precision, bound to the topic."""
    encoder = Encoder(device="cpu", precision=precision)
    catalog = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision, lexical_mode=None)
    catalog.add_encoded(WORKS, encoder)
    catalog.save(folder / "made")
    return loaded(WORKS, folder / "made", kafka, folder)


@contextmanager
def warmed(kafka: KafkaSettings, folder: Path, snapshot: Path, **settings: Any) -> Iterator[LinkerStage]:
    """Yield a linker that has loaded its encoders and catalog, as at its start."""
    stage = LinkerStage(
        worker_settings(kafka, folder, LinkerSettings, device="cpu", lag_interval_s=60, catalog_snapshot=snapshot, **settings)
    )
    try:
        stage.warm()
        yield stage
    finally:
        stage.close()


def test_works_are_encoded_in_fp32_and_references_in_bf16(kafka: KafkaSettings, tmp_path: Path):
    new = Work(id="doi:10.5555/new", ids=Ids(doi="10.5555/new"), title="Genetic changes during breeding of maize")
    with warmed(kafka, tmp_path, bound(kafka, tmp_path, "fp32"), query_precision="bf16") as stage:
        send(kafka, "catalog", [(new.id.encode(), CatalogEvent(schema_version=SCHEMA_VERSION, work=new).to_json())])
        stage.follower.wait_for(end_of(kafka, "catalog"), 60)
        assert stage.encoder.precision == "bf16"
        text = [stage.catalog.semantic_text(new)]
        assert stage.catalog.vectors is not None
        (kept,) = stage.catalog.vectors.vectors([new.id])
        exact, fast = (Encoder(device="cpu", precision=each).encode(text)[0] for each in ("fp32", "bf16"))
        assert np.array_equal(kept, exact.astype(np.float16))
        assert not np.array_equal(kept, fast.astype(np.float16))
        asked = Reference(id=f"{OWN}#r1.1", citing=OWN, position=1, title=new.title)
        view = stage.view([ReferenceEvent(schema_version=1, citing=OWN, paper_version=1, arrived=0, reference=asked)])
        assert isinstance(view.source, NativeCandidates)
        assert view.encoder is view.source.encoder is stage.encoder
        assert np.array_equal(stage.encoder.encode(text)[0], fast)
        assert view.source.precise is not None
        assert view.source.precise.precision == "fp32", "for references whose best two are close"
        assert propose([asked], view.source, view.policy)[0][0] == new.id


def test_a_snapshot_of_bf16_requires_the_setting_bf16(kafka: KafkaSettings, tmp_path: Path):
    snapshot = bound(kafka, tmp_path, "bf16")
    problem = "vectors are of precision bf16, not fp32: build it again, or set REFLINK_PRECISION=bf16$"
    for settings in ({}, {"query_precision": "bf16"}):
        with pytest.raises(SnapshotError, match=problem) as error, warmed(kafka, tmp_path, snapshot, **settings):
            pass
        assert str(snapshot) in str(error.value)
        assert "\n" not in str(error.value)
    with warmed(kafka, tmp_path, snapshot, precision="bf16") as stage:
        assert stage.follower.encoder is stage.encoder
        assert len(stage.catalog) == 2


class WithMemory:
    """The part of an encoder that the metrics use."""

    device = "cpu"

    def __init__(self) -> None:
        self.memory = TokenBudget(1000)


def test_memory_of_both_encoders_is_a_metric_and_the_budget_is_of_references():
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
