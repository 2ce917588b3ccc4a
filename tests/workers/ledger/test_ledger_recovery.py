"""Restoring the ledger's stores from the topics."""

from __future__ import annotations

from pathlib import Path

from tests.kafka import send, worker_settings
from tests.workers.echo import until
from tests.workers.ledger.changelogs import MemoryChangeLog
from tests.workers.ledger.ledgered import Ledger, manifest, outcomes
from workers.config.settings import KafkaSettings, LedgerSettings
from workers.kafka.topics import TopicAdmin
from workers.ledger.recovery import roll_forward
from workers.ledger.stage import LedgerStage
from workers.ledger.stores.outcome_store import TABLES, PartitionStore


def test_stores_are_restored_from_the_topics(kafka, tmp_path: Path):
    """A worker is killed between its commit and the write to its store; another partition's store is ahead of its topic."""
    configuration = worker_settings(kafka, tmp_path, LedgerSettings)
    ledger = Ledger(tmp_path / "first")
    ledger.take(manifest(1, "a", "b"), outcomes(1, 1, {"a": "x:1", "b": "x:2"}))
    ledger.take(manifest(2, "b"))
    stores = {number: PartitionStore(tmp_path / str(number), stale_after_s=1e9) for number in range(3)}
    half, works = len(ledger.log) // 2, MemoryChangeLog()
    works.apply([], 9)  # outcomes at later offsets would belong to another catalog
    for messages in (ledger.log[:half], ledger.log[half:]):
        # Keys are hashed to partitions here; rolling forward reads a whole partition, whatever the keys.
        for table in TABLES:
            send(kafka, table, [(each.key, each.value) for each in messages if each.topic == table])
        if messages == ledger.log[:half]:
            roll_forward({0: stores[0], 1: stores[1]}, works, configuration)
    stores[2].write([("links", "made up", b"{}")], {"links": 10**6})
    roll_forward(stores, works, configuration)
    for table in TABLES:
        found = {key: value for store in stores.values() for key, value in store.rows(table)}
        assert found == ledger.compacted(table)
    assert sum(store.next_offset("links") for store in stores.values()) == sum(each.topic == "links" for each in ledger.log)
    roll_forward({}, works, configuration)
    for store in stores.values():
        store.close()


def test_the_store_of_a_recreated_topic_is_rebuilt(kafka: KafkaSettings, tmp_path: Path):
    """The new topic has more records than the store, so its offsets are plausible."""
    stage = LedgerStage(worker_settings(kafka, tmp_path, LedgerSettings))
    stage.folder = tmp_path / "links"
    stage.catalog = MemoryChangeLog()
    places = [("outcomes", number) for number in range(3)]

    def held() -> dict[str, bytes]:
        stage.assigned(places)
        try:
            return {key: value for store in stage.stores.values() for key, value in store.rows("links")}
        finally:
            stage.released(places)

    send(kafka, "links", [(b"%d" % number, b"old") for number in range(30)])
    assert held() == {str(number): b"old" for number in range(30)}
    with TopicAdmin(kafka) as admin:
        before = admin.topic_ids(["links"])
        admin.admin.delete_topics([kafka.topic("links")])
        until(lambda: kafka.topic("links") not in admin.admin.list_topics())
        admin.create(3, 1)
        assert admin.topic_ids(["links"]) != before
    send(kafka, "links", [(b"%d" % number, b"new") for number in range(100, 400)])
    assert held() == {str(number): b"new" for number in range(100, 400)}
    assert held() == {str(number): b"new" for number in range(100, 400)}
    stage.close()
