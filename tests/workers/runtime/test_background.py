"""Live records and records of a background input in one worker, on a real broker."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tests.kafka import lag, read_all, send, worker_settings
from tests.workers.echo import Echo, running, until
from tests.workers.runtime.test_runtime import numbered, once_each
from workers.records import Message, Received
from workers.runtime import poll_loop
from workers.runtime.stalls import StallDetector
from workers.stage import Output

STALL_S = 2.0


class Patient(Echo):
    """A stage that copies outcomes to links, and retries too once ``known`` is True."""

    name = "patient"
    inputs = ("outcomes",)
    background_inputs = ("retries",)
    outputs = ("links",)

    def __init__(self, *, known: bool = False) -> None:
        super().__init__()
        self.known = known

    def ready(self, record: Received, waited_s: float) -> bool:
        assert record.topic == "retries"
        assert waited_s >= 0
        return self.known

    def handle(self, batch: Sequence[Received], view: object) -> Output:
        self.batches.append(len(batch))
        return Output([Message("links", record.key, record.value) for record in batch])


def test_what_is_not_ready_keeps_neither_live_records_nor_their_positions_and_is_no_stall(kafka, state, monkeypatch):
    stalls = StallDetector(300.0)  # the time of a commit depends on the machine
    monkeypatch.setattr(poll_loop, "StallDetector", lambda _: stalls)
    send(kafka, "retries", numbered(50))
    with running(Echo(), worker_settings(kafka, state)):  # leaves transaction markers after its outcomes
        send(kafka, "references", numbered(40, 50))
        until(lambda: lag(kafka, "echo", "references") == 0)
    stage = Patient()
    with running(stage, worker_settings(kafka, state, idle_commit_s=0.2, lag_interval_s=0.2)) as worker:
        until(lambda: len(read_all(kafka, "links")) == 40)
        until(lambda: lag(kafka, "patient", "outcomes") == 0, what="the position stays before the marker")
        stalls.timeout_s = STALL_S
        time.sleep(2 * STALL_S)
        assert worker.thread.is_alive()
        stalls.timeout_s = 300.0
        assert lag(kafka, "patient", "retries") == 50
        stage.known = True
        until(lambda: lag(kafka, "patient", "retries") == 0)
    once_each([record.value for record in read_all(kafka, "links")], 90)


def test_what_was_not_ready_when_a_worker_ended_is_read_by_the_next(kafka, state):
    send(kafka, "retries", numbered(50))
    with running(Patient(), worker_settings(kafka, state)) as worker:
        until(lambda: worker.runtime.flow.held())
        send(kafka, "outcomes", numbered(10, 50))
        until(lambda: len(read_all(kafka, "links")) == 10)
    with running(Patient(known=True), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "patient", "retries") == 0)
    once_each([record.value for record in read_all(kafka, "links")], 60)


def test_partitions_that_are_not_ready_move_to_another_worker_whole(kafka, state):
    send(kafka, "retries", numbered(300))
    first, second = Patient(), Patient()
    with running(first, worker_settings(kafka, state)) as one:
        until(lambda: one.runtime.flow.held())
        with running(second, worker_settings(kafka, state, slot="b")) as other:
            until(lambda: other.runtime.flow.held(), what="nothing moved")
            send(kafka, "outcomes", numbered(30, 300))
            first.known = second.known = True
            until(lambda: lag(kafka, "patient", "retries") == 0)
            until(lambda: lag(kafka, "patient", "outcomes") == 0)
    assert sum(first.batches) >= 1
    assert sum(second.batches) >= 1
    once_each([record.value for record in read_all(kafka, "links")], 330)
