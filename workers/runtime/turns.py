"""Turns of the stages that share a process: to load one after the other, and to handle a suspect while nothing else is."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Turns:
    """The turns of one process. Stages handle batches at the same time, except records that may have killed the process.

    Otherwise the journal of each stage would count the crashes that a record of another stage causes (``crash_journal``).
    ``names``: the stages that share the process, in the order in which they load.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._to_load = list(names)
        self._changed = threading.Condition()
        self._handling = 0
        self._waiting = 0

    @contextmanager
    def loading(self, name: str) -> Iterator[None]:
        """Load within, once the stages before this one have loaded. If one of them fails, the process ends, and this waits."""
        with self._changed:
            self._changed.wait_for(lambda: name not in self._to_load or name == self._to_load[0])
        yield
        with self._changed:
            self._to_load = [each for each in self._to_load if each != name]
            self._changed.notify_all()

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
