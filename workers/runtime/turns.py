"""Turns of the stages that share a process: to load one after the other, and to handle a suspect while nothing else is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """The turns of one process. Stages handle batches at the same time, except records that may have killed the process.

    Otherwise the journal of each stage would count the crashes that a record of another stage causes (``crash_journal``).
    """

    def __init__(self) -> None:
        #: Held by the stage that loads.
        self.loading = threading.Lock()
        self._changed = threading.Condition()
        self._handling = 0
        self._waiting = 0

    @contextmanager
    def handling(self, *, alone: bool) -> Iterator[None]:
        """Handle a batch within. ``alone``: wait until no other stage handles one; none begins meanwhile."""
        with self._changed:
            if alone:
                self._waiting += 1
                self._changed.wait_for(lambda: not self._handling)
                self._waiting -= 1
            else:
                self._changed.wait_for(lambda: self._handling >= 0 and not self._waiting)
            self._handling = -1 if alone else self._handling + 1
        try:
            yield
        finally:
            with self._changed:
                self._handling = 0 if alone else self._handling - 1
                self._changed.notify_all()
