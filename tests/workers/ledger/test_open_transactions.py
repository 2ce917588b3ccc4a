"""Bringing a store up while the markers of a committed transaction have not reached all of its topics.

A broker that coordinates a transaction writes its markers partition by partition, without order. So the offsets of a group can
be stable, and its partition with another worker, before the records of the same transaction can be read. A transaction that is
still open on the ledger's topics, and on these alone, is the same state.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer

from schemas import LinkEvent
from tests.kafka import create_topics, new_prefix, worker_settings
from tests.workers.echo import until
from tests.workers.ledger.changelogs import MemoryChangeLog
from tests.workers.ledger.ledgered import Ledger, manifest, outcomes
from workers.config.settings import KafkaSettings, LedgerSettings
from workers.devkit.cluster import BrokerCluster
from workers.errors import Stalled
from workers.kafka.clients import transactional_producer
from workers.kafka.topics import TopicAdmin
from workers.ledger.stage import LedgerStage
from workers.records import Message
from workers.telemetry import metrics

WAITING = "waiting for open transactions"


class Predecessor:
    """The partition's last owner. Its last transaction is undecided: version 2 of a paper, in which reference b is gone."""

    def __init__(self, kafka: KafkaSettings, folder: Path) -> None:
        self.kafka = kafka
        ledger = Ledger(folder)
        ledger.catalog.apply([], 20)
        first = ledger.take(manifest(1, "a", "b"), outcomes(1, 5, {"a": "x:old", "b": "x:b"}))
        last = ledger.take(manifest(2, "a"), outcomes(2, 9, {"a": "x:new"}, text="revised text"))
        # The broker does not end it while a test waits.
        settings = worker_settings(kafka, folder, LedgerSettings, transaction_timeout_s=600)
        self.producer: KafkaProducer = transactional_producer(settings, "ledger")
        self.producer.init_transactions()
        self.producer.begin_transaction()
        self._send(first)
        self.producer.commit_transaction()
        self.producer.begin_transaction()
        self._send(last)
        self.producer.flush()

    def _send(self, messages: Iterable[Message]) -> None:
        for each in messages:
            if each.topic in ("links", "manifests"):
                self.producer.send(
                    self.kafka.topic(each.topic), key=each.key, value=each.value, headers=list(each.headers), partition=0
                )


@pytest.fixture
def predecessor(kafka: KafkaSettings, tmp_path: Path) -> Iterator[Predecessor]:
    found = Predecessor(kafka, tmp_path / "a")
    yield found
    found.producer.close(timeout=2)


class Assigning:
    """A ledger that gets the partition, in a thread of its own."""

    def __init__(self, stage: LedgerStage) -> None:
        self.stage = stage
        self.left = threading.Event()
        stage.wanted = lambda _: not self.left.is_set()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.stage.assigned([("outcomes", 0)])
        except BaseException as error:
            self.error = error

    def await_open_transactions(self, caplog: pytest.LogCaptureFixture) -> None:
        until(lambda: not self.thread.is_alive() or any(each.message == WAITING for each in caplog.records))
        assert self.thread.is_alive(), f"the store counted as brought up; links: {self.links()}"

    def links(self) -> dict[str, tuple[int, str | None]]:
        rows = ((key, LinkEvent.from_json(value)) for key, value in self.stage.stores[0].rows("links"))
        return {key.split("#")[1]: (event.paper_version, event.link.cited) for key, event in rows}

    def finish(self) -> None:
        self.thread.join(180)
        assert not self.thread.is_alive(), "it goes on waiting"
        if self.error is not None:
            raise self.error


@contextmanager
def assigning(kafka: KafkaSettings, folder: Path, **settings: Any) -> Iterator[Assigning]:
    stage = LedgerStage(worker_settings(kafka, folder, LedgerSettings, slot="b", **settings))
    stage.folder = folder / "links"
    stage.catalog = MemoryChangeLog()
    stage.catalog.apply([], 20)
    found = Assigning(stage)
    try:
        yield found
    finally:
        found.left.set()
        found.thread.join(60)
        stage.close()


def undecided() -> dict[tuple[str, str], float]:
    samples = metrics.OPEN_TRANSACTION_RECORDS.collect()[0].samples
    return {(each.labels["topic"], each.labels["partition"]): each.value for each in samples}


@pytest.mark.parametrize(
    ("end", "links"),
    [
        (lambda producer: producer.commit_transaction(), {"a": (2, "x:new")}),
        (lambda producer: producer.abort_transaction(), {"a": (1, "x:old"), "b": (1, "x:b")}),
    ],
    ids=["committed", "aborted"],
)
def test_a_store_is_brought_up_when_every_transaction_on_its_topics_has_ended(
    predecessor: Predecessor,
    kafka: KafkaSettings,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    end: Callable[[KafkaProducer], None],
    links: dict[str, tuple[int, str | None]],
):
    caplog.set_level(logging.INFO)
    with assigning(kafka, tmp_path / "b") as successor:
        successor.await_open_transactions(caplog)
        assert undecided()["links", "0"] > 0, "operators see what it waits for"
        end(predecessor.producer)
        successor.finish()
        assert successor.links() == links
        assert not undecided(), "nothing is shown of what is decided"


def test_a_partition_that_leaves_is_not_waited_for(
    predecessor: Predecessor, kafka: KafkaSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """Taken away, or the worker ends: the stage hears of it once ``assigned`` has returned."""
    caplog.set_level(logging.INFO)
    with assigning(kafka, tmp_path / "b") as successor:
        successor.await_open_transactions(caplog)
        successor.left.set()
        successor.finish()
        successor.stage.released([("outcomes", 0)])
        assert not successor.stage.stores


@pytest.mark.usefixtures("predecessor")
def test_a_transaction_that_outlives_every_timeout_ends_the_worker(kafka: KafkaSettings, tmp_path: Path):
    """Only an operator ends it, and the worker's other partitions would wait for as long."""
    quick = assigning(kafka, tmp_path / "b", call_deadline_s=10.0, transaction_timeout_s=10.0)
    with quick as successor, pytest.raises(Stalled, match=rf"{kafka.topic('links')}\[0\].* before an open transaction"):
        successor.finish()


def leader_of(kafka: KafkaSettings, topic: str) -> int:
    """The index of the broker of a cluster that leads partition 0."""
    with TopicAdmin(kafka) as admin:
        described = admin.admin.describe_topics([kafka.topic(topic)])[0]
        return next(int(part["leader_id"]) - 1 for part in described["partitions"] if part["partition_index"] == 0)


def test_a_store_is_whole_though_a_broker_died_before_it_had_the_marker(cluster: BrokerCluster, tmp_path: Path):
    """Three brokers. The commit returns once its coordinator has decided; the marker comes when there is another leader."""
    kafka = create_topics(cluster.address, new_prefix())
    predecessor = Predecessor(kafka, tmp_path / "a")
    gone = leader_of(kafka, "links")
    cluster.kill(gone)
    try:
        predecessor.producer.commit_transaction()
        with assigning(kafka, tmp_path / "b") as successor:
            successor.finish()
            assert successor.links() == {"a": (2, "x:new")}
    finally:
        predecessor.producer.close(timeout=2)
        cluster.start_again(gone)
        cluster.wait_in_sync()
