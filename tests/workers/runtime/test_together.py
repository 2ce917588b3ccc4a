"""Several stages in one process against a real broker, with stages that only copy records."""

from __future__ import annotations

import threading
import urllib.request
from pathlib import Path

import orjson

from tests.kafka import lag, read_all, send, worker_settings
from tests.workers.echo import Echo, until
from tests.workers.runtime.test_poison_that_kills import Slot, restarting
from tests.workers.runtime.test_runtime import numbered, once_each, values
from workers.config.settings import KafkaSettings
from workers.errors import DeadLetterFlood
from workers.runtime.runtime import Runtime
from workers.runtime.together import Together
from workers.stage import Stage
from workers.telemetry import metrics


class Second(Echo):
    """A stage that copies the outcomes of the first to ``links``."""

    name = "second"
    inputs = ("outcomes",)
    outputs = ("links",)

    def handle(self, batch, view):
        output = super().handle(batch, view)
        for at, message in enumerate(output.messages):
            output.messages[at] = type(message)("links", message.key, message.value)
        return output


class Loading(Second):
    """A stage that loads until ``loaded`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.loaded = threading.Event(), threading.Event()

    def warm(self) -> None:
        self.begun.set()
        assert self.loaded.wait(60)


class RunningTogether:
    """Stages in one thread of the test process, as the main thread of a worker."""

    def __init__(self, kafka: KafkaSettings, folder: Path, *stages: Stage) -> None:
        settings = worker_settings(kafka, folder)
        self.together = Together([Runtime(stage, settings) for stage in stages], settings)
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.together.run()
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        self.together.stop()
        self.thread.join(40)
        assert not self.thread.is_alive(), "the process did not stop"

    def get(self, path: str) -> dict[str, dict[str, object]]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.together.health_port}{path}") as answer:
            return orjson.loads(answer.read())


def test_each_stage_commits_its_records_once_and_one_server_answers_for_both(kafka, state):
    send(kafka, "references", numbered(1000))
    process = RunningTogether(kafka, state, Echo(), Second())
    until(lambda: process.together.ready()[0])
    assert process.get("/health/ready")["second"]["joined"]
    assert process.get("/health/live")["echo"]["worker"] == "echo"
    until(lambda: metrics.READY._value.get() == 1)
    until(lambda: len(values(kafka, "links")) == 1000)
    process.stop()
    assert process.error is None
    assert metrics.READY._value.get() == 0
    once_each(values(kafka), 1000)
    once_each(values(kafka, "links"), 1000)


def test_stopping_finishes_the_batches_in_flight_of_both(kafka, state):
    send(kafka, "references", numbered(300))
    first, second = Echo(seconds=0.5), Second(seconds=0.5)
    process = RunningTogether(kafka, state, first, second)
    until(lambda: second.batches)
    process.stop()
    assert process.error is None
    assert len(values(kafka)) == sum(first.batches)
    assert len(values(kafka, "links")) == sum(second.batches)
    again = RunningTogether(kafka, state, Echo(), Second())
    until(lambda: lag(kafka, "echo", "references") == lag(kafka, "second", "outcomes") == 0)
    again.stop()
    once_each(values(kafka, "links"), 300)


def test_the_first_stage_that_fails_ends_the_others_and_is_reported(kafka, state):
    send(kafka, "references", numbered(3))
    first, before = Echo(), set(threading.enumerate())
    process = RunningTogether(kafka, state, first, Second())
    until(lambda: first.batches)
    send(kafka, "outcomes", [(b"k", b"bad %d" % number) for number in range(200)])
    process.thread.join(60)
    assert not process.thread.is_alive()
    assert isinstance(process.error, DeadLetterFlood)
    left = {thread.name for thread in set(threading.enumerate()) - before if "echo" in thread.name}
    assert not left, "the first stage ended too"


def test_a_stage_that_still_loads_does_not_delay_the_end(kafka, state):
    loading = Loading()
    process = RunningTogether(kafka, state, Echo(), loading)
    assert loading.begun.wait(60)
    until(lambda: process.together.runtimes[0].ready()[0])
    assert not process.together.ready()[0]
    process.stop()
    assert process.error is None
    loading.loaded.set()


def test_stages_load_in_their_order(kafka, state):
    first, second = Loading(), Loading()
    first.name, first.inputs = "first", ("references",)
    process = RunningTogether(kafka, state, first, second)
    assert first.begun.wait(60)
    assert not second.begun.is_set()
    first.loaded.set()
    assert second.begun.wait(60)
    second.loaded.set()
    until(lambda: process.together.ready()[0])
    process.stop()


def test_a_record_that_kills_the_process_is_not_blamed_on_the_other_stage(kafka, state):
    """The killer waits until a record of the other stage is in flight, alone: without turns it would be condemned too."""
    send(kafka, "references", [(b"k", b"kill on purpose"), (b"k", b"1")])
    send(kafka, "outcomes", [(b"k", b"%d" % number) for number in range(5)])
    restarting([Slot(kafka, state, KILLED_TOGETHER="1", KILLED_SECONDS="2", REFLINK_BATCH_RECORDS="1")])
    (dead,) = read_all(kafka, "dead-letters")
    assert dead.value == b"kill on purpose"
