"""Checks of a worker's topics, before it starts and while it runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any, Final

from kafka import TopicPartition

from workers.config.settings import WorkerSettings
from workers.errors import BrokerUnreachable, WrongTopic
from workers.kafka.partition_counts import Counts, committed, counts, refuse_growth, written
from workers.kafka.topics import Found, TopicAdmin
from workers.stage import Stage

log = logging.getLogger(__name__)

#: Seconds between two checks while the worker runs.
CHECK_EVERY_S: Final = 30.0


class TopicWatch:
    """Checks all topics that a stage uses. ``check`` may be called from any thread; its first call keeps the topics found."""

    def __init__(self, settings: WorkerSettings, stage: Stage[Any, Any]) -> None:
        self._settings, self._group = settings, settings.topic(stage.name)
        self._inputs = (*stage.inputs, *stage.background_inputs)
        self._names = {*self._inputs, *stage.outputs, *stage.follows, "dead-letters"}
        self._counts: Counts | None = None
        self._wrong = ""

    @property
    def note(self) -> str:
        """The metadata of each committed offset, valid after the first ``check``."""
        return written(self._counts or {})

    def check(self) -> Mapping[str, Found]:
        """Check the topics and return them. Raises WrongTopic, BrokerRefused and BrokerUnreachable.

        The first call compares the partition counts with those that the group has committed; later calls compare them with
        those of the first call.
        """
        with TopicAdmin(self._settings) as admin:
            found = admin.check(self._names)
        now = counts(found)
        if self._counts is None:
            for before in committed(self._settings, self._group, self._places(found)):
                refuse_growth(self._settings, before, now)
            self._counts = now
        refuse_growth(self._settings, self._counts, now)
        for name in sorted(now):
            if now[name] != self._counts[name]:
                raise WrongTopic(
                    f"topic {self._settings.topic(name)} was recreated while this worker ran: what it knows of its "
                    "partitions and offsets is of the former one; start it again"
                )
        return found

    def check_again(self) -> None:
        """Check the topics of a running worker. Raises BrokerRefused, and WrongTopic for the same fault twice in a row.

        One fault does not count, because a broker that has just started may not know every topic yet.
        """
        try:
            self.check()
        except WrongTopic as error:
            if str(error) == self._wrong:
                raise
            self._wrong = str(error)
            log.warning("a topic is no longer as it must be", extra={"detail": self._wrong})
        except BrokerUnreachable as error:
            log.debug("the topics cannot be checked", extra={"reason": type(error).__name__})
        else:
            self._wrong = ""

    def run(self, stopping: threading.Event) -> None:
        """Check every ``CHECK_EVERY_S`` seconds until ``stopping`` is set. Raises WrongTopic and BrokerRefused."""
        while not stopping.wait(CHECK_EVERY_S):
            self.check_again()

    def _places(self, found: Mapping[str, Found]) -> list[TopicPartition]:
        return [
            TopicPartition(self._settings.topic(name), partition)
            for name in self._inputs
            for partition in range(found[name].partitions)
        ]
