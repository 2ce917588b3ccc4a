"""Ends the process when something does not return: kafka-python's transaction calls wait without limit, and stages may hang."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from workers.errors import Stalled

log = logging.getLogger(__name__)

#: ``with activity("committing"):`` is watched.
Activity = Callable[[str], AbstractContextManager[None]]


class Watchdog:
    """Watches what each thread is doing. One that takes longer than ``deadline_s`` ends the process, loudly.

    The process is ended without clean-up: whatever hangs would hang that too, and nothing uncommitted is lost.
    """

    def __init__(self, deadline_s: float, end: Callable[[int], object] = os._exit) -> None:
        self.deadline_s = deadline_s
        self._end = end
        self._doing: dict[int, list[tuple[str, float]]] = {}
        self._stop = threading.Event()

    @contextmanager
    def activity(self, what: str) -> Iterator[None]:
        """Names what this thread does now; may be nested."""
        stack = self._doing.setdefault(threading.get_ident(), [])
        stack.append((what, time.monotonic()))
        try:
            yield
        finally:
            stack.pop()

    def overdue(self) -> tuple[str, float] | None:
        """The activity that is over its deadline, with its age in seconds."""
        now = time.monotonic()
        ages = [(what, now - since) for stack in list(self._doing.values()) for what, since in list(stack)]
        late = [(what, age) for what, age in ages if age > self.deadline_s]
        return max(late, key=lambda entry: entry[1]) if late else None

    def start(self) -> None:
        """Watches in a thread of its own."""
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Watches no more."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.wait(min(1.0, self.deadline_s / 4)):
            if late := self.overdue():
                what, age = late
                log.critical("stalled: the process ends", extra={"doing": what, "seconds": round(age, 1)})
                self._end(Stalled.exit_code)
