"""A replay that kills itself at a step of a transaction.

``python -m tests.workers.replay.killed_replay POINT NUMBER ARGUMENT…``
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

import workers.replay.runner
from workers.cli import main
from workers.kafka.transactional_producer import BoundedProducer
from workers.replay import transaction as replay_sending

#: Before a transaction, within it, before its offsets, after them, and after it.
POINTS: Final = ("begin", "sending", "sent", "offsets", "committed")
#: Small, so that there are many.
RECORDS: Final = 7


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Dying(BoundedProducer):
    """A producer that kills the process when it reaches ``point`` for the ``number``-th time."""

    point, number = "", 0

    def __init__(self, producer: Any, deadline_s: float) -> None:
        super().__init__(producer, deadline_s)
        begin, send = self.begin_transaction, self.send
        self.begin_transaction = lambda: self._at("begin", begin)

        def sending(*arguments: Any, **more: Any) -> Any:
            future = send(*arguments, **more)
            self._at("sending", lambda: future.get(timeout=30))  # it is on the broker
            return future

        self.send = sending

    def _at(self, point: str, call: Callable[[], object]) -> None:
        if point == self.point:
            type(self).number -= 1
            if not self.number:
                if point == "sending":
                    call()
                die()
        if point != "sending":
            call()

    def send_offsets_to_transaction(self, offsets: Any, group_metadata: Any) -> None:
        self._at("sent", lambda: super(Dying, self).send_offsets_to_transaction(offsets, group_metadata))

    def commit_transaction(self) -> None:
        self._at("offsets", super().commit_transaction)
        self._at("committed", lambda: None)


if __name__ == "__main__":
    Dying.point, Dying.number = sys.argv[1], int(sys.argv[2])
    replay_sending.BoundedProducer = Dying  # type: ignore[misc]
    workers.replay.runner._MAX_RECORDS = RECORDS  # type: ignore[misc]
    sys.exit(main(["replay", *sys.argv[3:]]))
