"""A worker that some records kill, to be started as a process: ``python -m tests.workers.killed``."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.workers.echo import Echo
from workers.cli.processes import _worker
from workers.settings import WorkerSettings
from workers.stage import NoView, Output, Received

#: Far above what the worker needs, far below what the record asks for.
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


#: What a record whose value begins with the name does to the process.
WAYS = {each.__name__: each for each in (segfault, kill, allocate, hang)}


class Killed(Echo):
    """Echo, but for those records. With KILLED_SECONDS a batch takes so long."""

    name = "killed"

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        if marker := os.environ.get("KILLED_IN_HAND"):
            Path(marker).write_text(str(len(batch)))
        for record in batch:
            if way := WAYS.get((record.value or b"").split(b" ")[0].decode()):
                way()
        return super().handle(batch, view)


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seconds = float(os.environ.get("KILLED_SECONDS", 0))
    return _worker(lambda _: Killed(seconds=seconds), WorkerSettings)(Namespace())


if __name__ == "__main__":
    sys.exit(main())
