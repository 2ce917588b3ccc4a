"""Turns of stages in one process: batches at the same time, a suspect alone and before later batches."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.workers.echo import Echo, until
from tests.workers.runtime.test_together import Loading, RunningTogether
from tests.workers.simulated import Busy, Clock, compute
from tests.workers.test_rates import spent
from workers.config.settings import KafkaSettings, LedgerSettings
from workers.runtime.exclusive_handling import ExclusiveHandling


class Handling:
    """A batch that another stage handles in a thread until ``end``."""

    def __init__(self, exclusive: ExclusiveHandling, *, alone: bool = False) -> None:
        self.exclusive = exclusive
        self.asked, self.begun, self._end = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(exclusive, alone), daemon=True)
        self._thread.start()

    def _run(self, exclusive: ExclusiveHandling, alone: bool) -> None:
        self.asked.set()
        with exclusive.turn(alone=alone):
            self.begun.set()
            self._end.wait(60)

    def end(self) -> None:
        self._end.set()
        self._thread.join(60)

    def waits(self) -> bool:
        """Return whether this suspect waits, once it either waits or has begun."""
        until(lambda: self.exclusive.waiting or self.begun.is_set())
        return not self.begun.is_set()


def test_batches_are_handled_at_the_same_time() -> None:
    exclusive = ExclusiveHandling()
    first, second = Handling(exclusive), Handling(exclusive)
    assert first.begun.wait(60)
    assert second.begun.wait(60)
    first.end()
    second.end()


def test_a_suspect_waits_for_the_batch_in_flight_and_later_batches_wait_for_it() -> None:
    exclusive = ExclusiveHandling()
    batch = Handling(exclusive)
    assert batch.begun.wait(60)
    suspect = Handling(exclusive, alone=True)
    until(lambda: exclusive.waiting)
    later = Handling(exclusive)
    assert later.asked.wait(60)
    assert not suspect.begun.is_set()
    batch.end()
    assert suspect.begun.wait(60)
    assert not later.begun.is_set()
    suspect.end()
    assert later.begun.wait(60)
    later.end()


def test_an_error_ends_the_turn() -> None:
    exclusive = ExclusiveHandling()
    for alone in (True, False):
        try:
            with exclusive.turn(alone=alone):
                raise ValueError
        except ValueError:
            pass
    suspect = Handling(exclusive, alone=True)
    assert suspect.begun.wait(60)
    suspect.end()


class Following(Busy):
    """A stage that handles 0.01 s per record; a suspect of another stage begins while it follows, and takes 1000 s."""

    def __init__(self, exclusive: ExclusiveHandling) -> None:
        super().__init__(Clock(), each_s=0.01)
        self.exclusive = exclusive
        self.waited: list[bool] = []

    def follow(self, seconds: float) -> bool:
        suspect = Handling(self.exclusive, alone=True)
        self.waited.append(suspect.waits())
        threading.Thread(target=self._end, args=(suspect,), daemon=True).start()
        return False

    def _end(self, suspect: Handling) -> None:
        assert suspect.begun.wait(60)
        self.clock.now += 1000
        suspect.end()


def test_a_suspect_waits_for_a_stage_that_follows_and_its_time_is_not_that_of_the_next_batch(tmp_path: Path) -> None:
    stage = Following(exclusive := ExclusiveHandling())
    before = spent("handle")
    compute(stage, LedgerSettings(slot="a", state_dir=tmp_path, batch_records=1), 10, exclusive)
    assert stage.waited
    assert all(stage.waited)
    assert stage.clock.now > 1000
    assert spent("handle") - before == pytest.approx(10 * 0.01)


def test_a_suspect_waits_for_a_stage_that_loads(kafka: KafkaSettings, state: Path) -> None:
    loading = Loading()
    process = RunningTogether(kafka, state, Echo(), loading)
    assert loading.begun.wait(60)
    suspect = Handling(process.together.runtimes[0].exclusive, alone=True)
    waited = suspect.waits()
    loading.loaded.set()
    assert suspect.begun.wait(60)
    suspect.end()
    process.stop()
    assert waited
