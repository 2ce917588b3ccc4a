"""A worker that some records kill, for a process of its own: ``python -m tests.workers.killed``."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.workers.echo import Echo
from workers.cli.processes import worker
from workers.config.settings import WorkerSettings, read
from workers.records import Received
from workers.runtime.process import run_until_signalled
from workers.runtime.runtime import Runtime
from workers.runtime.together import Together
from workers.stage import NoView, Output

#: Limit in bytes: far above the need of the worker, far below the allocation of the record.
ADDRESS_SPACE = 6 << 30


def segfault() -> None:
    ctypes.string_at(0)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def allocate() -> None:
    taken = []
    while True:
        taken.append(np.empty(1 << 30, np.uint8))  # address space only: it is never touched


def hang() -> None:
    time.sleep(3600)


#: By name: the effect on the process of a record whose value begins with the name.
WAYS = {each.__name__: each for each in (segfault, kill, allocate, hang)}


class Killed(Echo):
    """Echo, except for those records. A batch takes KILLED_SECONDS."""

    name = "killed"

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        if marker := os.environ.get("KILLED_IN_HAND"):
            Path(marker).write_text(str(len(batch)))
        for record in batch:
            if way := WAYS.get((record.value or b"").split(b" ")[0].decode()):
                if "KILLED_TOGETHER" in os.environ:
                    Beside.begun.wait(5)
                way()
        return super().handle(batch, view)


class Beside(Echo):
    """A stage in the same process, which writes nothing. A batch takes KILLED_SECONDS."""

    name = "beside"
    inputs = ("outcomes",)

    #: Whether a batch was in flight.
    begun = threading.Event()

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        self.begun.set()
        time.sleep(self.seconds)
        return Output()


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seconds = float(os.environ.get("KILLED_SECONDS", 0))
    if "KILLED_TOGETHER" in os.environ:
        settings = read(WorkerSettings)
        stages = (Killed(), Beside(seconds=seconds))
        run_until_signalled(Together([Runtime(stage, settings) for stage in stages], settings))
        return 0
    return worker(lambda: lambda _: Killed(seconds=seconds), WorkerSettings)(Namespace())


if __name__ == "__main__":
    sys.exit(main())
