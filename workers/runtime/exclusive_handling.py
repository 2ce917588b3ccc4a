"""Exclusive handling: while one of the stages that share a process handles a suspect, no other loads, follows or handles.

Otherwise the journal of each stage would count the crashes that another stage causes (``crash_journal``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ExclusiveHandling:
    """The turns of the stages of one process: at the same time, except a batch that may have killed the process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        #: Turns that run, -1 for one alone.
        self._running = 0
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Number of turns alone that wait for others to end."""
        return self._waiting

    @contextmanager
    def turn(self, *, alone: bool) -> Iterator[None]:
        """Work within. ``alone``: wait until no other stage works; none begins meanwhile."""
        with self._changed:
            if alone:
                self._waiting += 1
                self._changed.wait_for(lambda: not self._running)
                self._waiting -= 1
            else:
                self._changed.wait_for(lambda: self._running >= 0 and not self._waiting)
            self._running = -1 if alone else self._running + 1
        try:
            yield
        finally:
            with self._changed:
                self._running = 0 if alone else self._running - 1
                self._changed.notify_all()
