"""A stage that does next to nothing, to test the runtime with: it repeats references as outcomes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from reflink.errors import BadRecord
from workers.runtime import Runtime
from workers.settings import WorkerSettings
from workers.stage import Message, NoView, Output, Place, Received, Stage


class Echo(Stage[Received, NoView]):
    """Decoding fails on ``bad…``; handling a batch fails when one of its values is ``poison…``."""

    name = "echo"
    inputs = ("references",)
    outputs = ("outcomes",)

    def __init__(self, *, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.batches: list[int] = []
        self.came: list[Place] = []
        self.went: list[Place] = []

    def decode(self, record: Received) -> Received:
        if (record.value or b"").startswith(b"bad"):
            raise BadRecord("bad on purpose")
        return record

    def view(self, batch: Sequence[Received]) -> NoView:
        return NoView()

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        if any((record.value or b"").startswith(b"poison") for record in batch):
            raise RuntimeError("poisoned")
        self.batches.append(len(batch))
        time.sleep(self.seconds)
        return Output([Message("outcomes", record.key, record.value) for record in batch])

    def assigned(self, places: Sequence[Place]) -> None:
        self.came += places

    def released(self, places: Sequence[Place]) -> None:
        self.went += places


class Running:
    """A runtime in a thread of the test."""

    def __init__(self, stage: Stage, settings: WorkerSettings) -> None:
        self.runtime = Runtime(stage, settings)
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.runtime.run()
        except BaseException as error:
            self.error = error
        finally:
            self.runtime.stop()  # what the poll thread died of ends a process, and here its other threads would go on

    def stop(self, timeout: float = 40) -> None:
        self.runtime.stop()
        self.thread.join(timeout)
        assert not self.thread.is_alive(), "the worker did not stop"


@contextmanager
def running(stage: Stage, settings: WorkerSettings) -> Iterator[Running]:
    """Stops the worker at the end, and fails with what it died of."""
    worker = Running(stage, settings)
    try:
        yield worker
    finally:
        worker.stop()
    if worker.error is not None:
        raise worker.error


def until(condition, seconds: float = 60, what: str = "") -> None:
    """Waits for a condition; fails when it does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what or condition}"
        time.sleep(0.05)
