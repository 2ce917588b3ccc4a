"""A minimal stage for tests of the runtime: it copies references to outcomes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from reflink.errors import BadRecord
from workers.config.settings import WorkerSettings
from workers.records import Message, Partition, Received
from workers.runtime.runtime import Runtime
from workers.stage import NoView, Output, Stage


class Echo(Stage[Received, NoView]):
    """A stage that fails to decode values ``bad…``, and to handle batches with a value ``poison…``."""

    name = "echo"
    inputs = ("references",)
    outputs = ("outcomes",)

    def __init__(self, *, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.batches: list[int] = []
        self.came: list[Partition] = []
        self.went: list[Partition] = []

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

    def assigned(self, places: Sequence[Partition]) -> None:
        self.came += places

    def released(self, places: Sequence[Partition]) -> None:
        self.went += places


class Running:
    """A runtime in a thread of the test process."""

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
            self.runtime.stop()  # an error of the poll thread ends a process; here its other threads would continue

    def stop(self, timeout: float = 40) -> None:
        self.runtime.stop()
        self.thread.join(timeout)
        assert not self.thread.is_alive(), "the worker did not stop"


@contextmanager
def running(stage: Stage, settings: WorkerSettings) -> Iterator[Running]:
    """Run a worker, and stop it at the end. Raise the error that ended the worker, even if the test failed because of it."""
    worker = Running(stage, settings)
    try:
        yield worker
    finally:
        worker.stop()
        if worker.error is not None:
            raise worker.error


def until(condition, seconds: float = 60, what: str = "") -> None:
    """Wait until the condition is true; fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what or condition}"
        time.sleep(0.05)


@contextmanager
def meanwhile(step: Callable[[], bool]) -> Iterator[None]:
    """Call ``step`` in a thread until it returns True or the context ends."""
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set() and not step():
            pass

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
