"""The runtime against a real broker, with a stage that only copies records."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from tests.data import CACHE
from tests.kafka import create_topics, lag, new_prefix, read_all, send, worker_settings
from tests.workers.echo import Echo, Running, running, until
from workers.config.settings import KafkaSettings
from workers.devkit.broker import Broker
from workers.devkit.ports import free_port
from workers.errors import DeadLetterFlood, SlotTaken, Stalled, WrongTopic
from workers.records import Partition, Received
from workers.runtime import poll_loop
from workers.runtime.stalls import StallDetector
from workers.stage import NoView, Output
from workers.telemetry import metrics


def numbered(count: int, start: int = 0) -> list[tuple[bytes, bytes]]:
    return [(b"k%d" % (i % 17), b"%d" % i) for i in range(start, start + count)]


def once_each(found: list[bytes], count: int) -> None:
    """Fail with the missing and the duplicate numbers, if there are any."""
    counted = Counter(map(int, found))
    missing = [number for number in range(count) if not counted[number]]
    doubled = [number for number, times in counted.items() if times > 1]
    assert (missing, doubled) == ([], [])


def values(kafka: KafkaSettings, topic: str = "outcomes") -> list[bytes]:
    return [record.value for record in read_all(kafka, topic)]


def test_every_record_comes_out_once_and_in_order_by_key(kafka, state):
    send(kafka, "references", numbered(3000))
    with running(Echo(), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "echo", "references") == 0)
    out = read_all(kafka, "outcomes")
    assert sorted(int(record.value) for record in out) == list(range(3000))
    for key in {record.key for record in out}:
        mine = [int(record.value) for record in out if record.key == key]
        assert mine == sorted(mine)


def test_a_second_run_goes_on_where_the_first_stopped(kafka, state):
    for start in (0, 500):
        send(kafka, "references", numbered(500, start))
        with running(Echo(), worker_settings(kafka, state)):
            until(lambda: lag(kafka, "echo", "references") == 0)
    assert sorted(map(int, values(kafka))) == list(range(1000))


def test_an_idle_worker_has_no_lag_behind_markers_and_aborted_records(kafka, state, broker):
    # The records of outcomes are transactional here, so each of its partitions ends with a marker, which no consumer returns.
    send(kafka, "references", numbered(50))
    with running(Echo(), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "echo", "references") == 0)

    class Reader(Echo):
        name = "reader"
        inputs = ("outcomes",)
        outputs = ("links",)

        def handle(self, batch, view):
            return Output()

    with running(Reader(), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "reader", "outcomes") == 0, what="the group's position stays before the marker")


def test_poison_is_isolated_and_the_rest_goes_on(kafka, state):
    good = numbered(400)
    records = [*good[:100], (b"k", b"bad 1"), *good[100:300], (b"k", b"poison 2"), *good[300:], (None, b"bad 3")]
    send(kafka, "references", records)
    with running(Echo(), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "echo", "references") == 0)
    assert sorted(map(int, values(kafka))) == list(range(400))
    dead = {record.value: record for record in read_all(kafka, "dead-letters")}
    assert set(dead) == {b"bad 1", b"poison 2", b"bad 3"}
    assert dead[b"bad 1"].header("reflink-exception") == "BadRecord"
    assert dead[b"bad 1"].header("reflink-message") == "bad on purpose"
    assert dead[b"poison 2"].header("reflink-exception") == "RuntimeError"
    assert dead[b"poison 2"].header("reflink-topic") == "references"
    assert dead[b"poison 2"].header("reflink-worker") == "echo"
    assert dead[b"poison 2"].header("reflink-attempt") == "1"
    assert dead[b"bad 3"].key is None


def test_a_flood_of_poison_stops_the_worker_and_commits_nothing_of_it(kafka, state):
    send(kafka, "references", [(b"k", b"bad %d" % i) for i in range(200)])
    worker = Running(Echo(), worker_settings(kafka, state))
    worker.thread.join(40)
    assert isinstance(worker.error, DeadLetterFlood)
    assert "in a row" in str(worker.error)
    assert "bad on purpose" in str(worker.error)
    assert values(kafka, "dead-letters") == []
    assert lag(kafka, "echo", "references") == 200


def test_stopping_finishes_the_batch_in_flight(kafka, state):
    send(kafka, "references", numbered(200))
    stage = Echo(seconds=1.0)
    worker = Running(stage, worker_settings(kafka, state, batch_records=50, session_timeout_s=60.0))
    until(lambda: stage.batches)
    worker.stop()
    assert worker.error is None
    done = len(values(kafka))
    assert done == sum(stage.batches)
    assert lag(kafka, "echo", "references") == 200 - done


def test_stopping_during_an_idle_commit_does_not_wait_for_its_deadline(kafka, state, monkeypatch):
    worker = Running(Echo(), worker_settings(kafka, state, idle_commit_s=0.1, transaction_timeout_s=60.0))
    idle_batch, stopped = worker.runtime.flow.idle_batch, threading.Event()

    def stop_before(*arguments):
        worker.runtime.stop()
        time.sleep(0.5)  # the other threads run meanwhile, and would end here if the stop ended them
        stopped.set()
        return idle_batch(*arguments)

    monkeypatch.setattr(worker.runtime.flow, "idle_batch", stop_before)
    assert stopped.wait(40), "the positions of partitions without records were never committed"
    worker.thread.join(15)
    assert not worker.thread.is_alive(), "the poll thread waits for a thread that has ended"
    assert worker.error is None


def test_partitions_pause_when_compute_is_behind_and_nothing_is_lost(kafka, state):
    send(kafka, "references", [(b"k%d" % i, b"%d" % i + b" " * 2000) for i in range(1500)])
    settings = worker_settings(kafka, state, queue_bytes=200_000, batch_records=20)
    stage = Echo(seconds=0.02)
    with running(stage, settings) as worker:
        sizes = [0]

        def read() -> bool:
            sizes.append(worker.runtime.flow.queued().live_bytes)
            return worker.error is not None or lag(kafka, "echo", "references") == 0

        until(lambda: stage.batches)
        until(read, 200)
    assert sorted(int(value) for value in values(kafka)) == list(range(1500))
    # One poll may exceed the limit, by at most the size of one fetch.
    assert max(sizes) < 200_000 + 1500 * 2200


def shown_lag() -> float:
    samples = [sample for metric in metrics.LAG.collect() for sample in metric.samples]
    return sum(sample.value for sample in samples if sample.labels["topic"] == "references")


def test_lag_is_shown_while_records_wait_and_gone_when_none_do(kafka, state):
    send(kafka, "references", numbered(300))
    stage = Echo(seconds=2.0)
    with running(stage, worker_settings(kafka, state, batch_records=10)):
        until(lambda: 0 < shown_lag() <= 300)
        stage.seconds = 0.0
        until(lambda: shown_lag() == 0 and lag(kafka, "echo", "references") == 0)


def test_a_stage_that_takes_long_over_its_partitions_is_not_taken_for_stalled(kafka, state, monkeypatch):
    stalls = StallDetector(300.0)  # the time of a commit depends on the machine
    monkeypatch.setattr(poll_loop, "StallDetector", lambda _: stalls)

    class Slow(Echo):
        def assigned(self, places: Sequence[Partition]) -> None:
            super().assigned(places)
            time.sleep(1)
            stalls.timeout_s = 1.0
            time.sleep(4)
            stalls.timeout_s = 300.0

    send(kafka, "references", numbered(30))
    with running(Slow(), worker_settings(kafka, state)) as worker:
        until(lambda: lag(kafka, "echo", "references") == 0 or worker.error)
    assert len(values(kafka)) == 30


def test_a_partition_without_progress_ends_the_worker(kafka, state):
    send(kafka, "references", numbered(30))
    stage = Echo(seconds=30.0)
    worker = Running(stage, worker_settings(kafka, state, stall_timeout_s=2.0, drain_deadline_s=1.0))
    worker.thread.join(60)
    assert isinstance(worker.error, Stalled)
    assert "has not moved" in str(worker.error)
    stage.seconds = 0.0


def test_workers_share_partitions_and_hand_them_over(kafka, state):
    first, second = Echo(seconds=0.05), Echo(seconds=0.05)
    send(kafka, "references", numbered(1000))
    with running(first, worker_settings(kafka, state, batch_records=25)):
        until(lambda: first.batches)
        joined = Running(second, worker_settings(kafka, state, slot="b", batch_records=25))
        until(lambda: second.came, what="the second worker gets partitions")
        send(kafka, "references", numbered(1000, 1000))
        until(lambda: second.batches)
        joined.stop()
        assert joined.error is None
        send(kafka, "references", numbered(500, 2000))
        until(lambda: lag(kafka, "echo", "references") == 0)
    once_each(values(kafka), 2500)
    assert set(first.went) & set(second.came), "no partition changed hands"


def test_a_batch_that_outlasts_the_revocation_deadline_is_given_up_not_doubled(kafka, state):
    send(kafka, "references", numbered(300))
    slow = Echo(seconds=5.0)
    with running(slow, worker_settings(kafka, state, batch_records=100, revocation_deadline_s=0.5)):
        until(lambda: slow.batches)
        with running(Echo(), worker_settings(kafka, state, slot="b")):
            slow.seconds = 0.0
            until(lambda: lag(kafka, "echo", "references") == 0)
    once_each(values(kafka), 300)


def test_a_slot_is_used_once(kafka, state):
    with running(Echo(), worker_settings(kafka, state)) as worker:
        until(lambda: worker.runtime.ready()[0])
        other = Running(Echo(), worker_settings(kafka, state))
        other.thread.join(20)
        assert isinstance(other.error, SlotTaken)
        assert "REFLINK_SLOT" in str(other.error)


def test_a_missing_topic_is_named(broker, state):
    kafka = KafkaSettings(kafka_bootstrap_servers=broker.address, topic_prefix="nowhere.")
    worker = Running(Echo(), worker_settings(kafka, state))
    worker.thread.join(40)
    assert isinstance(worker.error, WrongTopic)
    assert "nowhere." in str(worker.error)
    assert "reflink-worker topics" in str(worker.error)


@pytest.fixture
def own() -> Iterator[Broker]:
    """A broker for one test: that of the session has the topics of all tests, and recovers their logs for minutes."""
    with Broker.start(port=free_port(), cache=CACHE) as broker:
        yield broker


def test_a_broker_that_restarts_costs_time_and_nothing_else(own: Broker, state):
    kafka = create_topics(own.address, new_prefix())
    send(kafka, "references", numbered(300))
    killed = threading.Event()

    class Held(Echo):
        def handle(self, batch: Sequence[Received], view: NoView) -> Output:
            output = super().handle(batch, view)
            killed.wait(60)
            return output

    stage = Held()
    with running(stage, worker_settings(kafka, state, batch_records=100)):
        until(lambda: stage.batches)
        own.end(kill=True)  # no transaction waits for its markers: see await_markers
        killed.set()
        own.start_again()
        send(kafka, "references", numbered(300, 300))
        until(lambda: lag(kafka, "echo", "references") == 0, 120)
    once_each(values(kafka), 600)


@pytest.mark.parametrize("kind", ["live", "ready"])
def test_health(kafka, state, kind):
    import urllib.request

    settings = worker_settings(kafka, state, http_port=0)
    with running(Echo(), settings) as worker:
        until(lambda: worker.runtime.health_port is not None and worker.runtime.ready()[0])
        with urllib.request.urlopen(f"http://127.0.0.1:{worker.runtime.health_port}/health/{kind}") as answer:
            assert answer.status == 200
