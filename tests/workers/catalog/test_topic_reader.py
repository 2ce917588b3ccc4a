"""Reading the catalog topic: its changes (``CatalogChanges``) in order, and how a reader ends."""

from __future__ import annotations

import time
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaConnectionError, TopicAuthorizationFailedError
from kafka.producer import KafkaProducer

from reflink.entities import Work
from schemas import CatalogEvent
from tests.kafka import await_markers, send
from tests.workers.echo import until
from workers.catalog.topic_reader import CatalogChanges, CatalogReader
from workers.config.settings import KafkaSettings
from workers.errors import BrokerRefused
from workers.kafka import partition_reader


def event(work_id: str) -> bytes:
    return CatalogEvent(schema_version=1, work=Work(id=work_id)).to_json()


def taken(reader: CatalogReader, upto: int) -> list[CatalogChanges]:
    """Return all changes until the reader reaches this offset."""
    found: list[CatalogChanges] = []

    def there() -> bool:
        while changes := reader.take():
            found.append(changes)
        return bool(found) and found[-1].offset >= upto

    until(there, what="changes")
    return found


def test_works_and_ids_of_removed_works_are_read_in_order_with_offsets_and_times(kafka: KafkaSettings):
    before = int(time.time() * 1000)
    send(kafka, "catalog", [(b"w1", event("w1")), (b"w2", b"not an event"), (b"w3", event("w3")), (b"w1", None)])
    reader = CatalogReader(kafka, 0)
    assert reader.take() is None
    assert reader.end == 0
    try:
        assert reader.start() == 4
        found = taken(reader, 4)
        records = [record for changes in found for record in changes.records]
        assert [(offset, what) for offset, _, what in records] == [(0, Work(id="w1")), (2, Work(id="w3")), (3, "w1")]
        assert all(before - 60_000 < arrived <= time.time() * 1000 + 60_000 for _, arrived, _ in records)
        assert found[-1].offset == reader.end == 4
        send(kafka, "catalog", [(b"w4", event("w4"))])
        (changes,) = taken(reader, 5)
        assert [(offset, what) for offset, _, what in changes.records] == [(4, Work(id="w4"))]
        until(lambda: reader.end == 5)
    finally:
        reader.close()
    again = CatalogReader(kafka, 3)
    try:
        again.start()
        assert [record[0] for changes in taken(again, 5) for record in changes.records] == [3, 4]
    finally:
        again.close()


def test_transaction_markers_advance_the_offset_without_records(kafka: KafkaSettings):
    producer = KafkaProducer(
        bootstrap_servers=kafka.kafka_bootstrap_servers, transactional_id=f"{kafka.topic_prefix}-test", acks="all"
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(kafka.topic("catalog"), key=b"w1", value=event("w1")).get(30)
    producer.abort_transaction()
    producer.close()
    await_markers(kafka.kafka_bootstrap_servers)
    reader = CatalogReader(kafka, 0)
    try:
        end = reader.start()
        assert end == 2
        assert [changes.records for changes in taken(reader, end) if changes.records] == []
    finally:
        reader.close()


class Failing:
    """A consumer whose polls raise the given errors in turn, and then return nothing."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors, self.closed = list(errors), False

    def assign(self, partitions: Any) -> None: ...
    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    def end_offsets(self, partitions: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 7)

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        if self.errors:
            raise self.errors.pop(0)
        return {}

    def position(self, partition: TopicPartition, timeout_ms: int) -> int:
        return 7

    def highwater(self, partition: TopicPartition) -> int:
        return 8

    def close(self) -> None:
        self.closed = True


def failing(monkeypatch: pytest.MonkeyPatch, *errors: BaseException) -> CatalogReader:
    consumer = Failing(*errors)
    monkeypatch.setattr(partition_reader, "plain_consumer", lambda settings, **_: consumer)
    reader = CatalogReader(KafkaSettings(), 0)
    assert reader.start() == 7
    return reader


@pytest.mark.parametrize(
    ("error", "raised"),
    [(TopicAuthorizationFailedError("no"), BrokerRefused), (RuntimeError("a defect"), RuntimeError)],
)
def test_an_error_of_the_reading_thread_is_raised_by_take(monkeypatch: pytest.MonkeyPatch, error: Exception, raised: Any):
    reader = failing(monkeypatch, error)
    try:
        with pytest.raises(raised):
            taken(reader, 7)
    finally:
        reader.close()


def test_a_temporary_error_is_retried(monkeypatch: pytest.MonkeyPatch):
    reader = failing(monkeypatch, KafkaConnectionError("gone for a moment"))
    try:
        assert taken(reader, 7) == [CatalogChanges([], 7)]
        assert reader.end == 8
    finally:
        reader.close()
    assert reader._reader._consumer.closed  # type: ignore[union-attr]
