"""A hanging transaction on an input causes no measured lag, so metrics of its own and an error in the log show it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.kafka import read_all, send, worker_settings
from tests.workers.echo import Echo, running, until
from workers.kafka.clients import transactional_producer
from workers.kafka.open_transactions import OpenTransactions
from workers.kafka.transactional_producer import BoundedProducer
from workers.runtime import poll_loop
from workers.runtime.stalls import StallDetector
from workers.telemetry import metrics

HANGS = "a transaction hangs"


def shown(metric: object, topic: str, partition: int) -> float | None:
    samples = (sample for each in metric.collect() for sample in each.samples)  # type: ignore[attr-defined]
    labels = {"topic": topic, "partition": str(partition)}
    return next((sample.value for sample in samples if sample.labels == labels), None)


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [each for each in caplog.records if each.message == HANGS]


@pytest.fixture(autouse=True)
def no_series_left() -> Iterator[None]:
    yield
    for metric in (metrics.OPEN_TRANSACTION_RECORDS, metrics.OPEN_TRANSACTION_SECONDS):
        metric.clear()


def test_a_hanging_transaction_on_an_input_is_shown_and_ends_no_worker(
    kafka, state, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    # The time of a commit depends on the machine.
    monkeypatch.setattr(poll_loop, "StallDetector", lambda _: StallDetector(300.0))

    def of(metric: object, partition: int = 0) -> float | None:
        return shown(metric, "references", partition)

    settings = worker_settings(kafka, state, slot="up", transaction_timeout_s=600)
    upstream = BoundedProducer(transactional_producer(settings, "parser"), 60.0)
    try:
        upstream.init_transactions()
        upstream.begin_transaction()
        for number in range(3):
            upstream.send(kafka.topic("references"), value=b"%d" % number, partition=0).get(timeout=30)
        with running(Echo(), worker_settings(kafka, state, stall_timeout_s=1.0)):
            until(lambda: of(metrics.OPEN_TRANSACTION_RECORDS) == 3)
            assert of(metrics.LAG) == 0, "the lag does not show it"
            until(lambda: logged(caplog))
            assert (of(metrics.OPEN_TRANSACTION_SECONDS) or 0) >= 1.0
            hanging = logged(caplog)[0]
            assert (hanging.levelno, vars(hanging)["topic"], vars(hanging)["partition"]) == (logging.ERROR, "references", 0)
            assert of(metrics.OPEN_TRANSACTION_RECORDS, 1) == 0
            # The other partitions continue. Keys are hashed to partitions: at least one of these is not in partition 0.
            send(kafka, "references", [(b"k%d" % number, b"9") for number in range(30)])
            until(lambda: any(each.value == b"9" for each in read_all(kafka, "outcomes")))
            upstream.commit_transaction()
            until(lambda: of(metrics.OPEN_TRANSACTION_RECORDS) == 0 and of(metrics.OPEN_TRANSACTION_SECONDS) == 0)
            until(lambda: {b"0", b"1", b"2"} <= {each.value for each in read_all(kafka, "outcomes")})
    finally:
        upstream.close(1)


def test_a_moving_stable_offset_is_not_a_hanging_transaction(caplog: pytest.LogCaptureFixture):
    now = 0.0
    watched = OpenTransactions(10.0, clock=lambda: now)
    for step in range(40):
        now = float(step)
        assert watched.observe(("references", 0), stable=step // 5, end=1000) == step % 5
    assert not logged(caplog)
    assert watched.observe(("references", 0), stable=1000, end=1000) == 0.0
    now = 100.0
    assert watched.observe(("references", 0), stable=1000, end=1000) == 0.0, "no record follows it"


def test_a_hanging_transaction_is_logged_at_intervals(caplog: pytest.LogCaptureFixture):
    now = 0.0
    watched = OpenTransactions(10.0, clock=lambda: now)
    for step in range(35):
        now = float(step)
        watched.observe(("references", 0), stable=7, end=9)
    assert [vars(each)["seconds"] for each in logged(caplog)] == [10, 20, 30]
    assert {vars(each)["offset"] for each in logged(caplog)} == {7}


def test_a_forgotten_partition_is_not_shown():
    watched = OpenTransactions(10.0)
    watched.observe(("references", 0), stable=7, end=9)
    watched.forget(("references", 0))
    watched.forget(("references", 1))
    assert shown(metrics.OPEN_TRANSACTION_RECORDS, "references", 0) is None
    assert shown(metrics.OPEN_TRANSACTION_SECONDS, "references", 0) is None
