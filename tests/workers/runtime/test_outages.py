"""A stage whose service does not answer: the batch waits, the worker keeps its partitions, and no record is lost or blamed."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from tests.kafka import lag, read_all, send, worker_settings
from tests.workers.echo import Echo, Running, running, until
from workers.errors import ServiceUnavailable
from workers.records import Received
from workers.stage import NoView, Output


class Dependent(Echo):
    """Fails in its view, or else in ``handle``, while ``away``."""

    def __init__(self, *, away: bool = True, in_view: bool = False) -> None:
        super().__init__()
        self.away, self.in_view, self.attempts = away, in_view, 0

    def view(self, batch: Sequence[Received]) -> NoView:
        self.attempts += 1
        if self.away and self.in_view:
            raise ServiceUnavailable("no node answers")
        return NoView()

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        if self.away:
            raise ServiceUnavailable("no node answers")
        return super().handle(batch, view)


def numbered(count: int) -> list[tuple[bytes, bytes]]:
    return [(b"k%d" % (i % 17), b"%d" % i) for i in range(count)]


@pytest.mark.parametrize("in_view", [True, False])
def test_a_batch_waits_until_the_service_answers(kafka, state, in_view):
    send(kafka, "references", numbered(300))
    stage = Dependent(in_view=in_view)
    # Shorter than the outage: neither the watchdog nor the detection of stalls may end the worker.
    with running(stage, worker_settings(kafka, state, call_deadline_s=6.0, stall_timeout_s=6.0)) as worker:
        until(lambda: stage.attempts > 3)
        time.sleep(9.0)
        assert worker.error is None
        assert not stage.batches
        stage.away = False
        until(lambda: lag(kafka, "echo", "references") == 0)
    assert sorted(int(record.value) for record in read_all(kafka, "outcomes")) == list(range(300))
    assert read_all(kafka, "dead-letters") == []


def test_a_worker_stops_during_an_outage_and_commits_nothing(kafka, state):
    send(kafka, "references", numbered(50))
    stage = Dependent()
    worker = Running(stage, worker_settings(kafka, state, drain_deadline_s=20.0))
    until(lambda: stage.attempts > 2)
    began = time.monotonic()
    worker.stop()
    assert time.monotonic() - began < 15.0, "it does not wait for the deadline"
    assert worker.error is None
    assert lag(kafka, "echo", "references") == 50
    with running(Echo(), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "echo", "references") == 0)
    assert len(read_all(kafka, "outcomes")) == 50


def test_partitions_move_to_a_worker_whose_service_answers(kafka, state):
    send(kafka, "references", numbered(90))
    away = Dependent()
    with running(away, worker_settings(kafka, state / "a")):
        until(lambda: away.attempts > 2)
        with running(Echo(), worker_settings(kafka, state / "b", slot="b")):
            until(lambda: len(away.went) > 0, what="no partition was given up")
            away.away = False
            until(lambda: lag(kafka, "echo", "references") == 0)
    assert sorted(int(record.value) for record in read_all(kafka, "outcomes")) == list(range(90))
