"""Turns of stages in one process: batches at the same time, a suspect alone and before later batches."""

from __future__ import annotations

import threading

from workers.runtime.turns import Turns


class Handling:
    """A batch that another stage handles in a thread until ``end``."""

    def __init__(self, turns: Turns, *, alone: bool = False) -> None:
        self.begun, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(turns, alone), daemon=True)
        self._thread.start()

    def _run(self, turns: Turns, alone: bool) -> None:
        with turns.handling(alone=alone):
            self.begun.set()
            self._end.wait(60)

    def end(self) -> None:
        self._end.set()
        self._thread.join(60)


def test_batches_are_handled_at_the_same_time() -> None:
    turns = Turns()
    first, second = Handling(turns), Handling(turns)
    assert first.begun.wait(60)
    assert second.begun.wait(60)
    first.end()
    second.end()


def test_a_suspect_waits_for_the_batch_in_flight_and_later_batches_wait_for_it() -> None:
    turns = Turns()
    batch = Handling(turns)
    assert batch.begun.wait(60)
    suspect = Handling(turns, alone=True)
    while not turns._waiting:
        pass
    later = Handling(turns)
    assert not suspect.begun.is_set()
    batch.end()
    assert suspect.begun.wait(60)
    assert not later.begun.is_set()
    suspect.end()
    assert later.begun.wait(60)
    later.end()


def test_stages_load_in_their_order_and_a_stage_alone_at_once() -> None:
    turns, loaded = Turns(["first", "second"]), list[str]()

    def load(name: str) -> None:
        with turns.loading(name):
            loaded.append(name)

    second = threading.Thread(target=load, args=("second",), daemon=True)
    second.start()
    load("another")
    load("first")
    second.join(60)
    assert loaded == ["another", "first", "second"]


def test_an_error_ends_the_turn() -> None:
    turns = Turns()
    for alone in (True, False):
        try:
            with turns.handling(alone=alone):
                raise ValueError
        except ValueError:
            pass
    suspect = Handling(turns, alone=True)
    assert suspect.begun.wait(60)
    suspect.end()
