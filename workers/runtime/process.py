"""A worker as a process: it runs until a signal ends it."""

from __future__ import annotations

import logging
import signal

from workers.runtime.process_memory import settle
from workers.runtime.runtime import Runtime
from workers.runtime.together import Together

log = logging.getLogger(__name__)


def run_until_signalled(runtime: Runtime | Together) -> None:
    """Run the worker; SIGTERM and SIGINT drain it, or end it at once while it warms up. Call from the main thread only."""

    def stop(*_: object) -> None:
        runtime.stop()
        if runtime.warming:
            raise _StoppedWarming

    for each in runtime.runtimes if isinstance(runtime, Together) else (runtime,):
        each.when_warm = settle
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        runtime.run()
    except _StoppedWarming:
        log.info("stopped before it was warm")


class _StoppedWarming(BaseException):
    """Not derived from Exception, so that no library that is being loaded catches it."""
