"""Watchdog that ends a hanging process: kafka-python's transaction calls wait without limit, and stages may hang."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from workers.errors import Stalled

log = logging.getLogger(__name__)

#: Context manager factory: the watchdog supervises the body of ``with activity("committing"):``.
Activity = Callable[[str], AbstractContextManager[None]]


class Watchdog:
    """Supervises the activity of each thread. An activity longer than ``deadline_s`` seconds is logged and ends the process.

    The process ends without clean-up: the hanging call would block it too, and uncommitted records are read again.
    """

    def __init__(self, deadline_s: float, end: Callable[[int], object] = os._exit) -> None:
        self.deadline_s = deadline_s
        self._end = end
        self._doing: dict[int, list[tuple[str, float]]] = {}
        self._stop = threading.Event()

    @contextmanager
    def activity(self, what: str) -> Iterator[None]:
        """Supervise the body as the activity ``what`` of the current thread; may be nested."""
        stack = self._doing.setdefault(threading.get_ident(), [])
        stack.append((what, time.monotonic()))
        try:
            yield
        finally:
            stack.pop()

    def overdue(self) -> tuple[str, float] | None:
        """Return the oldest activity over its deadline with its age in seconds, or None."""
        now = time.monotonic()
        ages = [(what, now - since) for stack in list(self._doing.values()) for what, since in list(stack)]
        late = [(what, age) for what, age in ages if age > self.deadline_s]
        return max(late, key=lambda entry: entry[1]) if late else None

    def start(self) -> None:
        """Start a thread that checks the activities."""
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop the checks."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.wait(min(1.0, self.deadline_s / 4)):
            if late := self.overdue():
                what, age = late
                log.critical("stalled: the process ends", extra={"doing": what, "seconds": round(age, 1)})
                self._end(Stalled.exit_code)
