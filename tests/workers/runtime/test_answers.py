"""How a worker handles unusable input: events too large or too new, odd compression, NaN, contradictory events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import KafkaProducer
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType

from reflink.catalog import Catalog
from reflink.entities import Ids, Reference, Work
from reflink.errors import BadRecord
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.semantic.encoder.spent import Spent
from schemas import SCHEMA_VERSION, CatalogEvent, ReferenceEvent
from tests.kafka import create_topics, lag, new_prefix, read_all, send, worker_settings
from tests.workers.echo import Echo, Running, running, until
from tests.workers.papers.test_stage import XML
from workers.catalog.follower import CatalogFollower
from workers.catalog.topic_reader import CatalogChanges, change_of
from workers.config.settings import (
    CatalogSettings,
    FallbackSettings,
    KafkaSettings,
    LedgerSettings,
    LinkerSettings,
    ParserSettings,
)
from workers.devkit.broker import Broker
from workers.errors import DeadLetterFlood, Stalled, WrongTopic
from workers.kafka.topics import TOPICS, TopicAdmin
from workers.ledger.stage import LedgerStage
from workers.linking.linker_stage import LinkerStage, LinkerView
from workers.papers.stage import ParserStage
from workers.records import Message, Received
from workers.runtime.flood_guard import FloodGuard
from workers.runtime.isolation import isolate
from workers.stage import Output
from workers.telemetry import metrics

# Too large


def test_an_event_above_its_topics_limit_rejects_only_its_record(kafka: KafkaSettings, state: Path):
    class Large(Echo):
        def handle(self, batch: Sequence[Received], view: Any) -> Output:
            sizes = {b"large": TOPICS["outcomes"].max_message_bytes}
            return Output(
                [Message("outcomes", each.key, (each.value or b"").ljust(sizes.get(each.value, 0))) for each in batch]
            )

    send(kafka, "references", [(b"k", b"1"), (b"k", b"large"), (b"k", b"2")])
    with running(Large(), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "echo", "references") == 0)
    assert [record.value for record in read_all(kafka, "outcomes")] == [b"1", b"2"]
    (dead,) = read_all(kafka, "dead-letters")
    assert (dead.value, dead.header("reflink-exception")) == (b"large", "TooLarge")
    assert "the topic accepts 2000000" in (dead.header("reflink-message") or "")


def shrink(kafka: KafkaSettings, topic: str, to: int) -> None:
    with TopicAdmin(kafka) as admin:
        config = {"max.message.bytes": (AlterConfigOp.SET, str(to))}
        admin.admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, kafka.topic(topic), config)])


def test_a_topic_that_takes_less_than_at_the_start_ends_the_worker_with_its_name_and_setting(kafka: KafkaSettings, state: Path):
    class Noise(Echo):
        def handle(self, batch: Sequence[Received], view: Any) -> Output:
            noise = np.random.default_rng(1).bytes(100_000)  # incompressible, so it stays large
            return Output([Message("outcomes", each.key, noise) for each in batch])

    worker = Running(Noise(), worker_settings(kafka, state))
    try:
        until(lambda: worker.runtime.poller is not None and worker.runtime.poller.joined)
        shrink(kafka, "outcomes", 20_000)
        send(kafka, "references", [(b"k", b"1")])
        until(lambda: worker.error is not None, what="the worker tries again without end")
    finally:
        worker.stop()
    assert isinstance(worker.error, WrongTopic)
    assert f"topic {kafka.topic('outcomes')} " in str(worker.error)
    assert "max.message.bytes" in str(worker.error)
    assert lag(kafka, "echo", "references") == 1
    assert read_all(kafka, "dead-letters") == []


# Too new


@pytest.mark.parametrize(("topic", "stage"), [
    ("references", lambda: LinkerStage(LinkerSettings())),
    ("outcomes", lambda: LedgerStage(LedgerSettings())),
    ("catalog", lambda: LedgerStage(LedgerSettings())),
])  # fmt: skip
def test_an_event_of_a_newer_contract_is_a_dead_letter_with_the_remedy(topic: str, stage: Callable[[], Any]):
    value = orjson.dumps({"schema_version": SCHEMA_VERSION + 1, "kind": "manifest", "anything": "else"})
    with pytest.raises(BadRecord, match=r"schema_version 2 is newer than 1.*upgrade the worker, then replay the dead letter"):
        stage().decode(Received(topic, 0, 0, b"doi:10.1000/a", value, (), 0))


# Compression


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_papers_are_read_with_every_codec(broker: Broker, state: Path, codec: str | None):
    kafka = create_topics(broker.address, new_prefix(), partitions=1)
    producer = KafkaProducer(bootstrap_servers=broker.address, compression_type=codec, linger_ms=200)
    for number in range(3):
        producer.send(kafka.topic("papers"), key=b"%d" % number, value=XML)
    producer.close()
    with running(ParserStage(worker_settings(kafka, state, ParserSettings)), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "parser", "papers") == 0, 150)  # the first parse may compile the kernels
    assert len([each for each in read_all(kafka, "outcomes") if b"manifest" in (each.value or b"")]) == 3
    assert read_all(kafka, "dead-letters") == []


def test_a_paper_with_a_wrong_compression_header_is_a_dead_letter(kafka: KafkaSettings, state: Path):
    producer = KafkaProducer(bootstrap_servers=kafka.kafka_bootstrap_servers)
    for encoding in (b"gzip", b"zstd", b"lzma", b"\xff"):
        producer.send(kafka.topic("papers"), key=b"k", value=XML, headers=[("reflink-encoding", encoding)])
    producer.close()
    with running(ParserStage(worker_settings(kafka, state, ParserSettings)), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "parser", "papers") == 0)
    dead = read_all(kafka, "dead-letters")
    assert [record.header("reflink-exception") for record in dead] == ["BadRecord"] * 4
    assert all(record.value == XML and "reflink-encoding" in (record.header("reflink-message") or "") for record in dead)


def test_a_corrupt_batch_ends_the_worker_with_its_place(broker: Broker, state: Path):
    kafka = create_topics(broker.address, new_prefix(), partitions=1)
    send(kafka, "references", [(b"k", b"sound " * 100)])
    log = broker.folder / "data" / f"{kafka.topic('references')}-0" / f"{0:020}.log"
    content = bytearray(log.read_bytes())
    content[-3] ^= 0xFF
    log.write_bytes(bytes(content))
    worker = Running(Echo(), worker_settings(kafka, state))
    try:
        until(lambda: worker.error is not None, what="it is tried without end")
    finally:
        worker.stop()
    assert isinstance(worker.error, Stalled)
    assert "CorruptRecordError: Record batch for partition" in str(worker.error)
    assert f"topic='{kafka.topic('references')}', partition=0) at offset 0 failed" in str(worker.error)


# A model that returns NaN


class NanFor:
    """An encoder of ten dimensions that returns NaN for texts that contain ``word``."""

    name, precision, dim, tokens_read = "test@1", "fp32", 10, 0
    spent = Spent()

    def __init__(self, word: str) -> None:
        self.word = word

    def encode(self, texts: Sequence[str]) -> Any:
        vectors = np.array([np.random.default_rng(len(text)).normal(size=self.dim) for text in texts], np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[[self.word in text for text in texts]] = np.nan
        return vectors


def work(number: int, title: str = "A sound title") -> Work:
    return Work(id=f"doi:10.1/{number}", ids=Ids(doi=f"10.1/{number}"), title=f"{title} {'x' * number}")


def vector_catalog() -> Catalog:
    return Catalog.empty(dim=10, model="test@1", precision="fp32", lexical_mode=None)


def referring(count: int, odd: set[int]) -> list[Received]:
    found = []
    for number in range(count):
        title = f"An odd title {number}" if number in odd else f"A sound title {number}"
        reference = Reference(
            id=f"doi:10.5/c#{number}.1", citing="doi:10.5/c", position=number + 1, raw_text=title, title=title
        )
        event = ReferenceEvent(schema_version=1, citing="doi:10.5/c", paper_version=1, arrived=1, reference=reference)
        found.append(Received("references", 0, number, b"doi:10.5/c", event.to_json(), (), 1))
    return found


class OfOneCatalog(LinkerStage):
    """A linker without a model's weights and without a topic to follow."""

    def __init__(self, encoder: Any) -> None:
        super().__init__(LinkerSettings())
        self.encoder, self.catalog = encoder, vector_catalog()
        self.catalog.add_encoded([work(number) for number in range(5)], NanFor("nothing"))

    def view(self, batch: Sequence[ReferenceEvent]) -> LinkerView:
        return LinkerView(NativeCandidates(self.catalog, self.encoder), Policy(), 0, self.encoder)


def test_references_without_a_direction_are_dead_letters_and_others_are_linked():
    isolated = isolate(OfOneCatalog(NanFor("odd")), referring(40, {3, 4, 30}))
    assert [record.offset for record, _ in isolated.poison] == [3, 4, 30]
    assert {type(error).__name__ for _, error in isolated.poison} == {"BadVector"}
    items = [item for message in isolated.output.messages for item in orjson.loads(message.value or b"")["items"]]
    assert len(items) == 37


def test_a_model_that_always_returns_nan_is_a_flood():
    records = referring(60, set())
    isolated = isolate(OfOneCatalog(NanFor("")), records)
    with pytest.raises(DeadLetterFlood, match="BadVector"):
        FloodGuard({"references"}, window=1000, max_invalid_ratio=0.05, max_consecutive_invalid=50).watch(
            records, isolated.poison
        )


def fed(encoder: Any, changes: Sequence[Work | str], **settings: Any) -> Catalog:
    """Return a catalog to which a follower has applied these changes."""
    follower = CatalogFollower(CatalogSettings(**settings), Catalog.empty(lexical_mode=None), encoder)
    if encoder is not None:
        follower.catalog = vector_catalog()
    follower.reader._queue.put(CatalogChanges([(at, 0, change) for at, change in enumerate(changes)], 99))
    while follower.apply(0.0):
        pass
    return follower.catalog


def test_a_work_without_a_direction_has_no_vector_on_any_replica():
    changes = [work(1), work(2, "An odd title"), work(3), work(4), work(4, "Became odd"), work(5, "Was odd"), work(5)]
    before = metrics.CATALOG_WITHOUT_VECTOR._value.get()
    encoded, plain = fed(NanFor("odd"), changes), fed(None, changes)
    assert sorted(each.id for each in encoded) == sorted(each.id for each in plain)
    assert (encoded.offset, plain.offset) == (99, 99)
    assert encoded.lookup(Ids(doi="10.1/2")) == ("doi:10.1/2",)
    assert encoded.vectors is not None
    with_vector = {number for number in range(1, 6) if f"doi:10.1/{number}" in encoded.vectors}
    assert with_vector == {1, 3, 5}
    assert metrics.CATALOG_WITHOUT_VECTOR._value.get() > before


def test_a_catalog_with_a_work_without_a_vector_is_saved_and_opened(tmp_path: Path):
    catalog = fed(NanFor("odd"), [work(1), work(2, "An odd title")])
    catalog.save(tmp_path / "snapshot")
    again = Catalog.open(tmp_path / "snapshot")
    assert (len(again), again.vectors is not None and len(again.vectors)) == (2, 1)


def test_a_model_that_has_no_vector_for_any_work_is_a_flood():
    with pytest.raises(DeadLetterFlood, match=r"20 consecutive works have no vector.*REFLINK_MODEL"):
        fed(NanFor(""), [work(number) for number in range(40)], flood_run=20)
    fed(NanFor("odd"), [work(number, "odd" if number % 3 else "Sound") for number in range(200)], flood_run=20)


def test_works_without_a_vector_of_a_sound_model_do_not_end_a_linker():
    """Otherwise they would end every linker again at its next start, because it reads the catalog from the same offset."""
    catalog = fed(NanFor("odd"), [*(work(number, "odd") for number in range(50)), work(50)], flood_run=20)
    assert (len(catalog), catalog.vectors is not None and len(catalog.vectors)) == (51, 1)


# Catalog events that contradict themselves


def event(**fields: Any) -> bytes:
    return orjson.dumps({"schema_version": 1, **fields})


A = {"id": "doi:10.1000/a", "ids": {"doi": "10.1000/a"}, "title": "A"}

CONTRADICTIONS: dict[str, tuple[bytes | None, bytes | None]] = {
    "the key is not the work's id": (b"doi:10.1000/b", event(work=A)),
    "both a work and withdrawn": (b"doi:10.1000/a", event(work=A, withdrawn="gone")),
    "neither": (b"doi:10.1000/a", event()),
    "an identifier other than the id": (b"doi:10.1000/a", event(work={**A, "ids": {"doi": "10.1000/b"}})),
    "another paper's pmid": (b"pmid:7", event(work={**A, "id": "pmid:7", "ids": {"pmid": "8"}})),
    "a withdrawal of nothing": (b"", event(withdrawn="gone")),
    "a tombstone of nothing": (b"", None),
    "a key that is no text": (b"\xff\xfe", None),
    "a newer contract": (b"doi:10.1000/a", orjson.dumps({"schema_version": 2, "work": A})),
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_a_contradiction_is_skipped_by_followers_and_rejected_by_the_ledger(what: str):
    key, value = CONTRADICTIONS[what]
    with pytest.raises(BadRecord):
        change_of(key, value)
    with pytest.raises(BadRecord):
        LedgerStage(LedgerSettings()).decode(Received("catalog", 0, 0, key, value, (), 0))


def test_an_id_made_of_an_identifier_that_is_not_normalised_contradicts_nothing():
    work = {**A, "id": "doi:10.1002/(sici)1097(199602)15:4&lt;361::aid-sim168&gt;3.0.co;2-4"}
    work["ids"] = {"doi": "10.1002/(sici)1097(199602)15:4<361::aid-sim168>3.0.co;2-4"}
    assert change_of(str(work["id"]).encode(), event(work=work))


def test_a_tombstone_without_a_key_is_refused_too():
    with pytest.raises(BadRecord, match="must be a work id"):
        change_of(None, None)


@given(st.none() | st.binary(max_size=20), st.none() | st.sampled_from([value for _, value in CONTRADICTIONS.values()]))
def test_followers_and_ledger_never_differ(key: bytes | None, value: bytes | None):
    def refuses(call: Callable[[], object]) -> bool:
        try:
            call()
        except BadRecord:
            return True
        return False

    decode = LedgerStage(LedgerSettings()).decode
    record = Received("catalog", 0, 0, key, value, (), 0)
    assert refuses(lambda: change_of(key, value)) == refuses(lambda: decode(record))


def test_on_a_broker_each_contradiction_is_one_dead_letter_and_every_follower_stands_at_the_same_place(
    kafka: KafkaSettings, state: Path
):
    sound = CatalogEvent(schema_version=1, work=Work(id="doi:10.1/z", ids=Ids(doi="10.1/z"), title="Z")).to_json()
    records = [*CONTRADICTIONS.values(), (b"doi:10.1/z", sound)]
    send(kafka, "catalog", records)
    followers = [CatalogFollower(CatalogSettings(**_bound(kafka)), Catalog.empty(lexical_mode=None), None) for _ in range(2)]
    for follower in followers:
        follower.wait_for(follower.start(), 30)
        follower.close()
    assert [(follower.catalog.offset, [each.id for each in follower.catalog]) for follower in followers] == [
        (len(records), ["doi:10.1/z"])
    ] * 2
    for slot in ("a", "b"):  # the second worker has nothing left to refuse
        settings = worker_settings(kafka, state, LedgerSettings, slot=slot)
        with running(LedgerStage(settings), settings):
            until(lambda: lag(kafka, "ledger", "catalog") == 0)
    dead = read_all(kafka, "dead-letters")
    assert [(record.key, record.value) for record in dead] == list(CONTRADICTIONS.values())
    assert {record.header("reflink-exception") for record in dead} == {"BadRecord"}


def _bound(kafka: KafkaSettings) -> dict[str, Any]:
    return {"kafka_bootstrap_servers": kafka.kafka_bootstrap_servers, "topic_prefix": kafka.topic_prefix}


def test_an_event_decided_beyond_the_catalogs_end_is_rejected_without_waiting(kafka, state):
    """Waiting for such an event would end every worker that reads it, again and again."""
    follower = CatalogFollower(worker_settings(kafka, state, FallbackSettings), Catalog.empty(lexical_mode=None), None)
    try:
        follower.start()
        with pytest.raises(BadRecord, match=r"decided at catalog offset 1000000, but .*catalog ends at 0"):
            follower.wait_for(10**6, 60)
    finally:
        follower.close()
