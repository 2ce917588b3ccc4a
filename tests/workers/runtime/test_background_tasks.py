"""Background tasks: their share of the time, and that the owner of the partition commits each exactly once."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest
from kafka import TopicPartition

from tests.data import ROOT
from tests.kafka import lag, read_all, send, worker_settings
from tests.workers.echo import Running, running, until
from tests.workers.members import member
from tests.workers.runtime.test_runtime import numbered, once_each, values
from tests.workers.simulated import LONG, Busy, Clock, Later, P, Q, assign, gain, record, seek_back, take_events
from tests.workers.test_rates import spent
from tests.workers.with_tasks import WithTasks, numbers
from workers.config.settings import KafkaSettings, LedgerSettings
from workers.errors import StoreFailed
from workers.kafka.clients import plain_consumer, transactional_producer
from workers.records import Message, Partition
from workers.runtime.background_tasks import BackgroundTasks
from workers.runtime.batching import Batch, BatchPolicy
from workers.runtime.commit_loop import Committer
from workers.runtime.finished import Finished
from workers.runtime.flow import Flow
from workers.runtime.runtime import Runtime
from workers.stage import Output
from workers.telemetry import metrics

PLACES: list[Partition] = [("references", number) for number in range(3)]

# The flow


class Watched(threading.Condition):
    """A condition with an event that is set when a thread begins to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.set()
        return super().wait(timeout)


def flow_of(*places: Partition, changed: threading.Condition | None = None) -> Flow:
    flow = Flow(BatchPolicy(10, 10**9, 0.0), changed=changed)
    assign(flow, *places)
    return flow


def begun(flow: Flow, *places: Partition) -> Batch:
    batch = flow.background_batch(places, dict.fromkeys(places, 7))
    assert batch is not None
    return batch


def test_a_background_task_is_a_batch_without_records_that_keeps_the_positions():
    flow = flow_of(P, Q)
    batch = flow.background_batch([P], {P: 7, Q: 9})
    assert batch is not None
    assert (batch.records, batch.positions) == ([], {P: 7})
    assert flow.current(batch)
    assert not flow.idle()
    assert flow.held() == set(), "it holds no record, so a missing record is still detected"
    flow.done(batch)
    assert flow.idle()


def come_back(flow: Flow) -> None:
    flow.partitions.revoke([P], 0.0)
    gain(flow, P)


CHANGES: dict[str, Callable[[Flow], object]] = {
    "lost": lambda flow: flow.partitions.lose([P]),
    "gained": lambda flow: gain(flow, Q),
    "revoked": lambda flow: flow.partitions.revoke([P], 0.0),
    "returned": come_back,
    "read again": Flow.discard,
    "closed": Flow.close,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_background_task_done_before_a_change_is_discarded(change: str):
    flow = flow_of(P)
    CHANGES[change](flow)
    assert flow.background_batch([P], {P: 7, Q: 7}) is None
    assert flow.undisturbed([P]) is (change == "read again")


def test_a_background_task_needs_known_positions_of_owned_partitions():
    flow = flow_of(P)
    assert flow.background_batch([P], {}) is None
    assert flow.background_batch([P, Q], {P: 7, Q: 7}) is None
    assert flow.background_batch([P], {P: 7}) is not None


def test_a_revocation_waits_for_a_background_task_until_its_deadline():
    flow = flow_of(P, Q)
    batch = begun(flow, P)
    revoking = Later(lambda: flow.partitions.revoke([P], LONG))
    until(lambda: P not in flow.partitions.owned())
    assert flow.current(batch)
    flow.done(batch)
    assert revoking.answer() is True
    take_events(flow)
    late = begun(flow, Q)
    assert flow.partitions.revoke([Q], 0.0) is False
    assert not flow.current(late)


def test_a_partition_is_not_sought_back_while_its_background_task_is_in_flight():
    flow = flow_of(P)
    batch = begun(flow, P)
    flow.discard()
    assert flow.partitions.to_seek_back() == set()
    flow.done(batch)
    assert flow.partitions.to_seek_back() == {P}


def test_idle_commits_and_background_tasks_wait_for_each_other(monkeypatch: pytest.MonkeyPatch):
    """A task commits the position that was committed when it began. It would undo an idle commit made meanwhile."""
    monkeypatch.setattr("workers.runtime.flow.GIVE_WAY_S", LONG)
    changed = Watched()
    flow = flow_of(P, changed=changed)
    order: list[str] = []
    batch = begun(flow, P)

    def rest() -> None:
        with flow.rest() as idle:
            order.append(f"rest {idle}")
            until(lambda: waits.is_alive() and len(order) == 1)
            order.append("rested")

    def task() -> None:
        assert begun(flow, P)
        order.append("task")

    rests, waits = threading.Thread(target=rest), threading.Thread(target=task)
    changed.waits.clear()
    rests.start()
    changed.waits.wait(LONG)
    flow.done(batch)
    waits.start()
    rests.join(LONG)
    waits.join(LONG)
    assert order == ["rest True", "rested", "task"]


def test_an_idle_commit_does_not_wait_for_batches():
    flow = flow_of(P)
    flow.offer([record(0)])
    with flow.rest() as idle:
        assert not idle
    assert flow.take(0) is not None
    with flow.rest() as idle:
        assert not idle


# The share of the time, with a clock that only simulated work advances


class Sweeping(Busy):
    """Busy with ``tasks`` background tasks, each of which takes ``task_s`` seconds."""

    sequential = True

    def __init__(self, clock: Clock, *, each_s: float, task_s: float, tasks: int = 10**9) -> None:
        super().__init__(clock, each_s=each_s)
        self.task_s, self.left = task_s, tasks

    def background_task(self) -> Output | None:
        if not self.left:
            return None
        self.left -= 1
        self.clock.now += self.task_s
        return Output([Message("outcomes", b"k", b"v")], partitions=frozenset([P]))


class _Instant:
    """A committer that takes ``commit_s`` of simulated time, and ends the worker when all records are committed."""

    def __init__(self, runtime: Runtime, clock: Clock, count: int, commit_s: float) -> None:
        self.runtime, self.clock, self.left, self.commit_s = runtime, clock, count, commit_s
        self.finished, self.positions = self, {P: 0}
        self.tasks = 0

    def put(self, finished: Finished | None) -> None:
        if finished is None:
            return
        self.clock.now += self.commit_s
        self.left -= len(finished.batch.records)
        self.tasks += not finished.batch.records
        finished.offsets = {}
        self.runtime.flow.done(finished.batch)
        if not self.left:
            self.runtime.flow.close()


def swept(stage: Sweeping, folder: Path, count: int, commit_s: float) -> int:
    """Run the loop of the compute thread over ``count`` queued records. Return the number of background tasks done."""
    runtime = Runtime(stage, LedgerSettings(slot="a", state_dir=folder, batch_records=1), stage.clock)
    assign(runtime.flow, P)
    runtime.flow.offer([record(offset) for offset in range(count)])
    committer = _Instant(runtime, stage.clock, count, commit_s)
    with runtime.journal:
        runtime._compute(committer)  # type: ignore[arg-type]
    return committer.tasks


@pytest.mark.parametrize(("each_s", "task_s", "commit_s"), [(0.01, 0.05, 0.01), (0.3, 0.05, 0.02), (0.02, 0.001, 0.01)])
def test_background_tasks_and_their_commits_get_a_fifth_of_a_busy_workers_time(tmp_path, each_s, task_s, commit_s):
    stage = Sweeping(Clock(), each_s=each_s, task_s=task_s)
    before = spent("chore")
    tasks = swept(stage, tmp_path, 1000, commit_s)
    assert tasks * (task_s + commit_s) / stage.clock.now == pytest.approx(0.2, abs=0.02)
    assert spent("chore") - before == pytest.approx(tasks * task_s)


def test_without_background_tasks_all_time_is_for_records(tmp_path):
    stage = Sweeping(Clock(), each_s=0.01, task_s=0.05, tasks=0)
    assert swept(stage, tmp_path, 100, 0.01) == 0
    assert stage.clock.now == pytest.approx(100 * 0.02)


def test_a_long_background_task_is_repaid_before_the_next(tmp_path):
    stage = Sweeping(Clock(), each_s=0.01, task_s=2.0)
    assert swept(stage, tmp_path, 1000, 0.0) == 2, "10 s of records earn 2.5 s of tasks"


# The result of a background task


class Kept(WithTasks):
    """A stage with the given background tasks, which writes nothing to Kafka."""

    def __init__(self, *tasks: Output | None) -> None:
        self.tasks = list(tasks)
        self.notified: list[tuple[Output, dict[Partition, int]]] = []

    def background_task(self) -> Output | None:
        return self.tasks.pop(0) if self.tasks else None

    def committed(self, output, offsets):
        self.notified.append((output, dict(offsets)))


def tasks_of(stage: Kept, flow: Flow, commit: Callable[[Finished], None], known: dict[Partition, int]) -> BackgroundTasks:
    return BackgroundTasks(stage, flow, known, commit, lambda _: nullcontext(), Clock())


def test_an_output_without_messages_is_kept_at_once_if_its_partitions_are_owned():
    flow = flow_of(P)
    ours, lost, still = Output(partitions=frozenset([P])), Output(partitions=frozenset([Q])), Output(writes={"k": b"v"})
    stage = Kept(ours, lost, still, None)
    tasks = tasks_of(stage, flow, pytest.fail, {})
    assert tasks.turn()
    assert stage.notified == [(ours, {})]
    assert stage.tasks == [still, None], "a turn ends with a discarded output"
    assert tasks.turn()
    assert stage.notified == [(ours, {}), (still, {})]
    assert not tasks.turn()


def test_the_stage_is_not_notified_of_a_background_task_that_was_not_committed():
    flow, given_up = flow_of(P), []

    def commit(finished: Finished) -> None:
        given_up.append(finished)
        flow.done(finished.batch)

    one = Output([Message("links", b"k", b"v")], partitions=frozenset([P]))
    stage = Kept(one, one)
    tasks = tasks_of(stage, flow, commit, {P: 3})
    assert not tasks.turn()
    assert not tasks_of(stage, flow, commit, {}).turn(), "the position of the partition is unknown"
    assert [finished.batch.positions for finished in given_up] == [{P: 3}]
    assert stage.notified == []


def test_messages_without_a_partition_are_rejected():
    tasks = tasks_of(Kept(Output([Message("links", b"k", b"v")])), flow_of(P), pytest.fail, {})
    with pytest.raises(ValueError, match="names no partition"):
        tasks.turn()


# On Kafka


@pytest.mark.parametrize("error", [RuntimeError("broken on purpose"), StoreFailed("full on purpose")])
def test_an_error_of_a_background_task_ends_the_worker(kafka, state, error):
    class Broken(WithTasks):
        def background_task(self):
            raise error

    worker = Running(Broken(kafka, 0), worker_settings(kafka, state))
    worker.thread.join(40)
    assert worker.error is error


def commits(kafka: KafkaSettings, group: str) -> dict[TopicPartition, list[int]]:
    """Return every offset that the group ever committed, in order, from the broker's topic of offsets."""
    consumer = plain_consumer(kafka)
    try:
        places = [TopicPartition("__consumer_offsets", each) for each in consumer.partitions_for_topic("__consumer_offsets")]
        ends = consumer.end_offsets(places)
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        found: dict[TopicPartition, list[int]] = {}
        deadline = time.monotonic() + 60
        while any(consumer.position(place) < ends[place] for place in places):
            assert time.monotonic() < deadline, "the group's offsets cannot be read"
            for records in consumer.poll(timeout_ms=200).values():
                for each in records:
                    key = _committed_for(each.key)
                    if key is not None and key[0] == kafka.topic(group) and each.value is not None:
                        found.setdefault(key[1], []).append(struct.unpack_from(">hq", each.value)[1])
        return found
    finally:
        consumer.close()


def _committed_for(key: bytes) -> tuple[str, TopicPartition] | None:
    (version,) = struct.unpack_from(">h", key)
    if version > 1:  # metadata of the group, not an offset
        return None
    names, start = [], 2
    for _ in range(2):
        (length,) = struct.unpack_from(">h", key, start)
        names.append(key[start + 2 : start + 2 + length].decode())
        start += 2 + length
    return names[0], TopicPartition(names[1], struct.unpack_from(">i", key, start)[0])


def never_went_back(kafka: KafkaSettings, group: str = "chored") -> None:
    found = commits(kafka, group)
    assert found
    for place, offsets in found.items():
        assert offsets == sorted(offsets), f"positions of {place} went back"


def all_done(kafka: KafkaSettings, limit: int, places: Sequence[Partition] = PLACES) -> None:
    assert numbers(kafka) == {place: list(range(limit)) for place in places}


def out_records(topic: str) -> float:
    return metrics.RECORDS_OUT.labels(topic)._value.get()


def test_background_tasks_and_batches_are_committed_once_each(kafka, state):
    send(kafka, "references", numbered(600))
    before, batches = out_records("links"), metrics.BATCH_RECORDS._sum.get()
    stage = WithTasks(kafka, 40, seconds=0.02)
    with running(stage, worker_settings(kafka, state, batch_records=20, session_timeout_s=60.0)):
        until(lambda: stage.batches and stage.done)
        send(kafka, "references", numbered(600, 600))
        until(lambda: lag(kafka, "chored", "references") == 0 and stage.done == 120)
    once_each(values(kafka), 1200)
    all_done(kafka, 40)
    assert stage.offered == 120, "without a rebalance none is discarded"
    assert out_records("links") - before == 120
    assert metrics.BATCH_RECORDS._sum.get() - batches == 1200
    never_went_back(kafka)


def test_a_worker_with_endless_background_tasks_has_no_lag_behind_markers(kafka, state):
    first = WithTasks(kafka, 1)
    send(kafka, "references", numbered(50))
    with running(first, worker_settings(kafka, state)):
        until(lambda: lag(kafka, "chored", "references") == 0 and first.done == 3)

    class Reader(WithTasks):
        name = "reader"
        inputs = ("outcomes",)
        outputs = ("retries", "links")

        def handle(self, batch, view):
            return Output()

    stage = Reader(kafka, 10**9)
    with running(stage, worker_settings(kafka, state)):
        until(lambda: stage.done > 20)
        until(lambda: lag(kafka, "reader", "outcomes") == 0, what="the position stays before the marker")
        done = stage.done
        until(lambda: stage.done > done + 20)
        assert lag(kafka, "reader", "outcomes") == 0, "a background task has set it back"
    never_went_back(kafka, "reader")


def test_background_tasks_continue_at_the_new_owner_of_a_partition(kafka, state):
    send(kafka, "references", numbered(300))
    first, second = WithTasks(kafka, 60, task_s=0.3), WithTasks(kafka, 60, task_s=0.3)
    with running(first, worker_settings(kafka, state, batch_records=25)):
        until(lambda: first.done > 5)
        joined = Running(second, worker_settings(kafka, state, slot="b", batch_records=25))
        until(lambda: second.done > 5, what="the second worker does tasks")
        first.task_s = second.task_s = 0.0
        send(kafka, "references", numbered(300, 300))
        joined.stop()
        assert joined.error is None
        until(lambda: first.done + second.done == 180 and lag(kafka, "chored", "references") == 0)
    once_each(values(kafka), 600)
    all_done(kafka, 60)
    never_went_back(kafka)


def test_the_broker_rejects_a_background_task_of_a_removed_worker(kafka, state):
    settings = worker_settings(kafka, state, session_timeout_s=60.0)
    send(kafka, "references", numbered(30))
    flow = flow_of(*PLACES)
    committer = Committer(
        settings, "echo", flow, {"links": 3}, lambda: transactional_producer(settings, "echo"), lambda _: nullcontext()
    )
    with member(settings) as consumer, closing(committer):
        committer.open()
        now = consumer.group_metadata()
        for number, works in enumerate((False, True)):
            flow.partitions.join(now if works else now._replace(generation_id=now.generation_id - 1), (), continued=True)
            finished = Finished(begun(flow, P), Output([Message("links", b"k", b"%d" % number)], partitions=frozenset([P])))
            committer.commit([finished])
            assert (finished.offsets is not None) is works
            assert consumer.committed(TopicPartition(kafka.topic("references"), 0)) == (7 if works else None)
            seek_back(flow, *flow.partitions.to_seek_back())
    assert [each.value for each in read_all(kafka, "links")] == [b"1"]


class Process:
    """A worker in its own process, which receives a signal at a given point of its work."""

    def __init__(self, kafka: KafkaSettings, folder: Path, limit: int, slot: str = "a") -> None:
        settings = {
            "REFLINK_KAFKA_BOOTSTRAP_SERVERS": kafka.kafka_bootstrap_servers,
            "REFLINK_TOPIC_PREFIX": kafka.topic_prefix,
            "REFLINK_STATE_DIR": str(folder),
            "REFLINK_SLOT": slot,
            "REFLINK_SESSION_TIMEOUT_S": "2",
            "REFLINK_REVOCATION_DEADLINE_S": "1",
            "REFLINK_IDLE_COMMIT_S": "0.2",
            "REFLINK_BATCH_RECORDS": "20",
            "CHORED_LIMIT": str(limit),
        }
        self._environment = {**os.environ, **settings}
        self.log = folder / f"{slot}.log"
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def running(self, at: str = ":0:0") -> Iterator[subprocess.Popen[bytes]]:
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "tests.workers.with_tasks"]
            environment = {**self._environment, "CHORED_AT": at}
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log, stdout=log)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
            process.wait(40)


@pytest.mark.full
def test_each_background_task_and_record_is_committed_once_despite_kills(kafka, state):
    worker = Process(kafka, state, 60)
    ends = ["chore:9", "commit:12", "after commit:15", "committed:5", "handle:3", "committed:20"]
    for number, point in enumerate(ends):
        send(kafka, "references", numbered(100, 100 * number))
        with worker.running(f"{point}:{int(signal.SIGKILL)}") as process:
            assert process.wait(60) == -signal.SIGKILL, f"{point}; {worker.log.read_text()}"
    with worker.running() as process:
        until(lambda: sum(map(len, numbers(kafka).values())) >= 180 and lag(kafka, "chored", "references") == 0, 200)
        process.terminate()
        assert process.wait(40) == 0
    once_each(values(kafka), 100 * len(ends))
    all_done(kafka, 60)
    never_went_back(kafka)


@pytest.mark.parametrize("point", ["chore", "commit", "committed"])
def test_a_paused_process_that_lost_its_partitions_commits_no_background_task(kafka, state, point):
    """If the process stops with an open transaction, the other worker reads nothing until that transaction has ended."""
    worker = Process(kafka, state, 60)
    with worker.running(f"{point}:20:{int(signal.SIGSTOP)}") as process:
        until(lambda: os.waitpid(process.pid, os.WUNTRACED | os.WNOHANG)[0] == process.pid, what="it stops")
        before = sum(map(len, numbers(kafka).values()))
        other = WithTasks(kafka, 60)
        with running(other, worker_settings(kafka, state / "b", slot="b", session_timeout_s=2.0, revocation_deadline_s=1.0)):
            if point == "commit":
                until(lambda: other.came)
            else:
                until(lambda: other.done > 10)
            process.send_signal(signal.SIGCONT)
            until(lambda: sum(map(len, numbers(kafka).values())) >= 180, 300)
    assert before < 30
    all_done(kafka, 60)
    never_went_back(kafka)
